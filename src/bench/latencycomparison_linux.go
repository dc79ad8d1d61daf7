package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"github.com/kcp4j/kcp4j/interop/cli"
	"golang.org/x/sys/unix"
)

// What a full comparison and a short one take, unless flags say otherwise.
const (
	fullSeeds, shortSeeds   = 3, 1
	shortTime               = 20 * time.Second
	fullWarmUp, shortWarmUp = 20 * time.Second, 10 * time.Second
)

const calibrationTime = 5 * time.Second

// shortDelay is that of a server in the same country.
const shortDelay = 10 * time.Millisecond

// A latencyComparison runs each variant at each loss, with each seed, over an emulated link.
type latencyComparison struct {
	link              string
	config            link.Config // of both directions, but for loss, seed, and what variants set
	lossList          string
	losses            []float64 // percent
	short             bool
	seeds             int
	attempts          int
	maxExcess         time.Duration // of the link, for 99 % of the packets
	time, warmUp      time.Duration
	classPath, commit string
	mtu               int // of KCP sessions
	match             *regexp.Regexp
	jvms              jvms
	csvFile, jsonFile string
	variants          []*latencyVariant
	idleLoops         *idleLoops
}

// flags declares flags. The defaults of losses, delay and time are the values that they have.
func (c *latencyComparison) flags(flags *flag.FlagSet) {
	c.commonFlags(flags)
	flags.IntVar(&c.mtu, "mtu", defaultMTU,
		"of KCP sessions whose variant names no other, in `bytes`")
	flags.StringVar(&c.csvFile, "csv", "", "write a line for each run to this `file`")
	flags.StringVar(&c.lossList, "loss", c.lossList,
		"`percent` of packets lost each way, of each cell; "+
			"with a server of kcp-go and a client of kcp4j, only on their way to the server")
	flags.DurationVar(&c.config.Burst, "burst", 0,
		"mean `length` of loss bursts; 0: packets are lost independently")
	flags.DurationVar(&c.config.Delay, "delay", c.config.Delay, "`time` each way")
	flags.DurationVar(&c.config.Jitter, "jitter", time.Millisecond,
		"most `time` that is added to the delay, uniformly; it reorders packets")
	flags.BoolVar(&c.short, "short", false, fmt.Sprintf(
		"one seed, %v after %v: a quick look, whose tails depend on few losses", shortTime, shortWarmUp))
	flags.DurationVar(&c.time, "time", c.time, "`time` of each measurement")
	flags.DurationVar(&c.warmUp, "warm-up", fullWarmUp, "`time` before each measurement")
}

// commonFlags declares those that compare-recovery has, too.
func (c *latencyComparison) commonFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.classPath, "classpath", "kcp-jmh/target/benchmarks.jar",
		"class path of the programs of kcp4j")
	flags.Func("match", "only variants whose name, as the progress shows it, "+
		"this regular `expression` matches", func(s string) (err error) {
		c.match, err = regexp.Compile(s)
		return err
	})
	flags.StringVar(&c.commit, "commit", "", "`version` of kcp4j, for the report")
	flags.StringVar(&c.jsonFile, "json", "", "write all runs with every sample to this `file`")
	c.jvms.flag(flags)
	flags.StringVar(&c.link, "link", "",
		"relay: of UDP on loopback; tun: of IP between two network namespaces, which needs root; "+
			"default: tun for root, else relay")
	flags.IntVar(&c.seeds, "seeds", fullSeeds, "runs of each cell, each with a seed of its own")
	flags.IntVar(&c.attempts, "attempts", 3, "how often calibration and runs are tried")
	c.maxExcess = link.Limit
}

// rateFlags declares those of a link that is the same for all variants.
func (c *latencyComparison) rateFlags(flags *flag.FlagSet) {
	flags.Float64Var(&c.config.Rate, "rate", 0,
		"of the link each way, in `bytes` per second; 0: unlimited")
	flags.IntVar(&c.config.QueueBytes, "queue", 0,
		"`bytes` that wait for the rate at most; 0: unlimited")
}

// check also sets what depends on several flags.
func (c *latencyComparison) check(flags *flag.FlagSet) error {
	if c.short {
		c.shorten(flags)
	}
	c.jvms = c.jvms.orDefault()
	var err error
	c.losses, err = parseLosses(c.lossList)
	return errors.Join(err, c.chooseLink())
}

// shorten changes what no flag has set.
func (c *latencyComparison) shorten(flags *flag.FlagSet) {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["seeds"] {
		c.seeds = shortSeeds
	}
	if !given["time"] {
		c.time = shortTime
	}
	if !given["warm-up"] {
		c.warmUp = shortWarmUp
	}
}

func (c *latencyComparison) chooseLink() error {
	switch c.link {
	case "relay", "tun":
	case "":
		c.link = "relay"
		if os.Geteuid() == 0 {
			c.link = "tun"
		}
	default:
		return cli.UsageErrorf("--link %q: expected relay or tun", c.link)
	}
	return nil
}

// choose sets the variants: those that match, and can pass the link.
func (c *latencyComparison) choose(all []*latencyVariant) {
	c.variants = slices.DeleteFunc(all, func(v *latencyVariant) bool {
		return c.match != nil && !c.match.MatchString(v.fullName()) || c.isUnreachable(v)
	})
}

// isUnreachable finds what cannot pass a relay of UDP.
func (c *latencyComparison) isUnreachable(v *latencyVariant) bool {
	if c.link != "relay" || !v.needsIP {
		return false
	}
	fmt.Fprintf(os.Stderr, "%s is left out: the relay forwards UDP of one client only; "+
		"--link tun, as root, forwards all of IP\n", v.fullName())
	return true
}

// newReport returns a report without runs. The class prints the versions of what it uses.
func (c *latencyComparison) newReport(class string) *latencyReport {
	return &latencyReport{
		Commit: c.commit, Machine: machine(), Date: time.Now().Format(time.DateOnly),
		Versions: versions(c.jvms, c.classPath, class), Link: c.link,
		Time: c.time.Seconds(), WarmUp: c.warmUp.Seconds(), variants: c.variants,
	}
}

func (c *latencyComparison) open(up, down link.Config) (*link.Link, error) {
	if c.link == "tun" {
		return link.NewTUN(up, down)
	}
	return link.NewRelay(up, down), nil
}

// runUntilInterrupted adds the runs to the report.
func (c *latencyComparison) runUntilInterrupted(report *latencyReport) error {
	return c.untilInterrupted(func(interrupt context.Context) error {
		return c.run(interrupt, report)
	})
}

// untilInterrupted calls a function that runs all, while no core is idle.
func (c *latencyComparison) untilInterrupted(run func(context.Context) error) (err error) {
	interrupt, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	interrupt, cancel := context.WithCancelCause(interrupt)
	defer cancel(nil)
	if c.idleLoops, err = startIdleLoops(cancel); err != nil {
		return err
	}
	defer c.idleLoops.end()
	return run(interrupt)
}

// run adds the runs to the report. It returns an error if the link is not precise enough or if it
// was interrupted, and after all runs if one of them is not published.
func (c *latencyComparison) run(interrupt context.Context, report *latencyReport) (err error) {
	if report.Calibration, err = c.calibrate(interrupt, c.config.Delay); err != nil {
		return err
	}
	failed, total, done := 0, c.seeds*len(c.losses)*len(c.variants), 0
	for seed := 1; seed <= c.seeds; seed++ {
		for _, loss := range c.losses {
			for _, v := range c.order(seed) {
				done++
				fmt.Fprintf(os.Stderr, "%d of %d: %s, %v %% loss, seed %d\n",
					done, total, v.fullName(), loss, seed)
				isPublished, err := c.attempt(interrupt, report, v, loss, seed)
				if err != nil {
					return fmt.Errorf("in run %d of %d: %w", done, total, err)
				}
				if !isPublished {
					failed++
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs are not published", failed, total)
	}
	return nil
}

// attempt repeats a run that was disturbed. It returns false if none is published, unless the
// transport is unavailable, and an error if the comparison cannot go on.
func (c *latencyComparison) attempt(interrupt context.Context,
	report *latencyReport, v *latencyVariant, loss float64, seed int,
) (bool, error) {
	for range c.attempts {
		r, err := c.measure(interrupt, v, loss, seed)
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
			r = c.newRun(v, loss, seed)
			r.Failure = strings.TrimSpace(err.Error())
		}
		report.Runs = append(report.Runs, r)
		if r.isPublished() {
			return true, nil
		}
		fmt.Fprintln(os.Stderr, "not published: "+r.reason())
		if r.Failure != "" {
			return false, nil
		}
	}
	return false, nil
}

func interrupted(interrupt context.Context) error {
	return fmt.Errorf("interrupted: %w", context.Cause(interrupt))
}

// order alternates, so that no variant always follows the same one.
func (c *latencyComparison) order(seed int) []*latencyVariant {
	order := slices.Clone(c.variants)
	if seed%2 == 0 {
		slices.Reverse(order)
	}
	return order
}

// calibrate measures the link without faults, and returns the last result, whatever it is. A
// calibration that fails, as when the host stops the machine for long, is repeated like others.
func (c *latencyComparison) calibrate(
	interrupt context.Context, delay time.Duration,
) (*calibrationResult, error) {
	var last *calibrationResult
	result := fmt.Errorf("the link adds more than %v to 1 %% of the packets: nothing is published",
		c.maxExcess)
	for range c.attempts {
		if interrupt.Err() != nil {
			return last, interrupted(interrupt)
		}
		calibration, err := c.probe(delay)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			result = err
			continue
		}
		last = newCalibrationResult(calibration)
		fmt.Fprintf(os.Stderr, "calibration: the link adds %v (median), %v (p99), %v (most)\n",
			calibration.P50, calibration.P99, calibration.Max)
		if calibration.P99 <= c.maxExcess {
			return last, nil
		}
	}
	return last, result
}

func (c *latencyComparison) probe(delay time.Duration) (link.Calibration, error) {
	config := link.Config{Delay: delay}
	l, err := c.open(config, config)
	if err != nil {
		return link.Calibration{}, err
	}
	defer l.Close()
	return l.Calibrate(delay, calibrationTime)
}
