package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
)

func compareRecovery(flags *flag.FlagSet, args []string) error {
	var c recoveryComparison
	c.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), c.check()); err != nil {
		return err
	}
	report := &recoveryReport{
		Commit: c.commit, Machine: machine(), Date: time.Now().Format(time.DateOnly),
		Versions: versions(c.jvms, c.classPath, rpcClass), Link: c.link}
	err := c.untilInterrupted(func(interrupt context.Context) error {
		return c.run(interrupt, report)
	})
	return errors.Join(err, report.publish(c.jsonFile, c.plots))
}

// A recoveryComparison runs each case with each seed, over an emulated link of its own.
type recoveryComparison struct {
	latencyComparison
	rowList, outageList string
	outages             []time.Duration
	window              time.Duration // before and after stops, and of streams
	uploadLimit         time.Duration
	maxOtherCPU         float64
	plots               string
	cases               []*recoveryCase
}

// Lengths of outages of a full comparison and of a short one.
const fullOutages, shortOutages = "1s,5s,20s,27s", "1s,5s"

// giveUp is how long after an outage data may begin to arrive: longer than any timeout of kcp4j.
const giveUp = time.Minute

func (c *recoveryComparison) flags(flags *flag.FlagSet) {
	c.commonFlags(flags)
	flags.StringVar(&c.rowList, "rows", strings.Join(allRows, ","), "`kinds` of rows")
	flags.StringVar(&c.outageList, "outages", fullOutages, "`lengths` of outages")
	flags.DurationVar(&c.window, "time", 10*time.Second,
		"`time` of each measurement before and after stops, and of streams")
	flags.DurationVar(&c.warmUp, "warm-up", 5*time.Second, "`time` before each of them")
	flags.DurationVar(&c.uploadLimit, "upload-limit", 2*time.Minute,
		"`time` after which an upload is not waited for")
	flags.Float64Var(&c.maxOtherCPU, "max-other-cpu", maxOtherCPU,
		"refuse runs during which other processes and the host take more, in `percent` of a core")
	flags.DurationVar(&c.maxExcess, "max-excess", c.maxExcess,
		"refuse links that delay 1 percent of the packets by more `time` than they should")
	flags.StringVar(&c.plots, "plots", "", "write plots of outages to files with this `prefix`")
	flags.BoolVar(&c.short, "short", false, fmt.Sprintf(
		"one seed, outages of %s, fewer links: a quick look", shortOutages))
	c.mtu = defaultMTU
}

// check also sets what depends on several flags.
func (c *recoveryComparison) check() error {
	if c.short {
		c.seeds = shortSeeds
		if c.outageList == fullOutages {
			c.outageList = shortOutages
		}
	}
	c.jvms = c.jvms.orDefault()
	for _, s := range strings.Split(c.outageList, ",") {
		length, err := time.ParseDuration(s)
		if err != nil || length <= 0 {
			return cli.UsageErrorf("--outages %q: expected times above 0", c.outageList)
		}
		c.outages = append(c.outages, length)
	}
	rows := strings.Split(c.rowList, ",")
	for _, row := range rows {
		if !slices.Contains(allRows, row) {
			return cli.UsageErrorf("--rows %q: expected some of %s",
				c.rowList, strings.Join(allRows, ", "))
		}
	}
	if err := c.chooseLink(); err != nil {
		return err
	}
	c.cases = slices.DeleteFunc(c.allCases(), func(r *recoveryCase) bool {
		return !slices.Contains(rows, r.rows) || r.needsIP && c.link == "relay" ||
			c.match != nil && !c.match.MatchString(r.name())
	})
	return nil
}

// run adds the runs to the report. It returns an error if the link is not precise enough or if it
// was interrupted, and after all runs if one of them is not published.
func (c *recoveryComparison) run(interrupt context.Context, report *recoveryReport) (err error) {
	if report.Calibration, err = c.calibrate(interrupt, defaultPath.Delay); err != nil {
		return err
	}
	failed, total, done := 0, c.seeds*len(c.cases), 0
	for seed := 1; seed <= c.seeds; seed++ {
		for _, r := range c.order(seed) {
			done++
			fmt.Fprintf(os.Stderr, "%d of %d: %s, seed %d\n", done, total, r.name(), seed)
			isPublished, err := c.attempt(interrupt, report, r, seed)
			if err != nil {
				return fmt.Errorf("in run %d of %d: %w", done, total, err)
			}
			if !isPublished {
				failed++
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs are not published or have failed", failed, total)
	}
	return nil
}

// order alternates, so that no case always follows the same one.
func (c *recoveryComparison) order(seed int) []*recoveryCase {
	order := slices.Clone(c.cases)
	if seed%2 == 0 {
		slices.Reverse(order)
	}
	return order
}

// attempt repeats a run that was disturbed. It returns false if none is published or if a process
// has failed, and an error if the comparison cannot go on.
func (c *recoveryComparison) attempt(
	interrupt context.Context, report *recoveryReport, r *recoveryCase, seed int,
) (bool, error) {
	for range c.attempts {
		run := &recoveryRun{Rows: r.rows, Table: r.table, Peers: r.peers, Seed: seed}
		err := c.measure(interrupt, r, run)
		if interrupt.Err() != nil {
			return false, interrupted(interrupt)
		}
		if errors.As(err, new(errHarness)) {
			return false, err
		}
		if errors.As(err, new(errUnavailable)) {
			fmt.Fprintln(os.Stderr, err)
			return true, nil
		}
		if err != nil {
			run.fail(r.columns, err)
		}
		report.Runs = append(report.Runs, run)
		fmt.Fprintln(os.Stderr, "   "+run.summary())
		if run.isPublished() {
			return run.Failure == "", nil
		}
	}
	return false, nil
}

// summary shows the progress.
func (r *recoveryRun) summary() string {
	parts := []string{}
	for _, figure := range r.Figures {
		parts = append(parts, figure.Column+" "+cellText([]recoveryFigure{figure}))
	}
	parts = append(parts, r.Remarks...)
	if r.Failure != "" {
		parts = append(parts, r.Failure)
	}
	if r.Refusal != "" {
		parts = append(parts, "not published: "+r.Refusal)
	}
	return strings.Join(parts, "; ")
}
