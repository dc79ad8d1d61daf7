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
	"strconv"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"golang.org/x/sys/unix"
)

func compareTunnel(flags *flag.FlagSet, args []string) error {
	var c tunnelComparison
	c.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), c.check()); err != nil {
		return err
	}
	interrupt, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	if c.fetchBytes > 0 {
		return c.fetchAll(interrupt)
	}
	report := c.newReport()
	err := c.run(interrupt, report)
	report.summarize()
	report.print()
	if c.jsonFile != "" {
		err = errors.Join(err, writeJSON(c.jsonFile, report))
	}
	return err
}

// A tunnelComparison runs each variant in each round.
type tunnelComparison struct {
	jar, commit, jsonFile string
	compressionList       string
	connectionsList       string
	optionList            string
	lossList              string
	losses                []float64 // percent
	delay                 time.Duration
	upload                bool
	rounds, attempts      int
	time, warmUp          time.Duration
	match                 *regexp.Regexp
	jvms                  jvms
	variants              []*tunnelVariant
	fetchBytes            int64
	httpServer            string
}

func (c *tunnelComparison) flags(flags *flag.FlagSet) {
	flags.StringVar(&c.jar, "jar", "kcp-examples/target/kcp.jar", "`file` of the tunnel of kcp4j")
	flags.StringVar(&c.compressionList, "compression", notCompressed+","+compressed,
		"with which `compressions` to run each tunnel")
	flags.StringVar(&c.connectionsList, "connections", "1,50",
		"with which `numbers` of TCP connections to run each tunnel")
	flags.StringVar(&c.optionList, "options", "--sndwnd=1024 --rcvwnd=1024 --mtu=1200",
		"`options` of kcptun, for both ends")
	flags.StringVar(&c.lossList, "loss", "0",
		"`percent` of the datagrams lost each way; with --fetch a list, with commas")
	flags.DurationVar(&c.delay, "delay", 0, "`time` that datagrams take each way")
	flags.BoolVar(&c.upload, "upload", false, "send from the client of the tunnel to its server")
	flags.IntVar(&c.rounds, "rounds", 5, "how often to run each tunnel, in turn")
	flags.IntVar(&c.attempts, "attempts", 3, "how often a run that was disturbed is tried")
	flags.DurationVar(&c.warmUp, "warm-up", 20*time.Second,
		"`time` before each measurement with a JVM, for its compiler")
	flags.DurationVar(&c.time, "time", 10*time.Second, "`time` of each measurement")
	flags.Func("match", "only tunnels whose name, as the progress shows it, "+
		"this regular `expression` matches", func(s string) (err error) {
		c.match, err = regexp.Compile(s)
		return err
	})
	flags.StringVar(&c.commit, "commit", "", "`version` of kcp4j, for the report")
	flags.StringVar(&c.jsonFile, "json", "", "also write the figures to this `file`")
	flags.Int64Var(&c.fetchBytes, "fetch", 0,
		"in place of a measurement fetch a file of so many `bytes` by curl, and compare its SHA-256")
	flags.StringVar(&c.httpServer, "http", "",
		"where to fetch from: `nginx` or go; default: nginx if it is installed")
	c.jvms.flag(flags)
}

// check also sets what the flags stand for.
func (c *tunnelComparison) check() error {
	c.jvms = c.jvms.orDefault()
	losses, err := parseLosses(c.lossList)
	if err != nil {
		return err
	}
	c.losses = losses
	if len(losses) > 1 && c.fetchBytes == 0 {
		return cli.UsageErrorf("--loss %q: more than one without --fetch", c.lossList)
	}
	compressions := strings.Split(c.compressionList, ",")
	if err := checkCompressions(compressions); err != nil {
		return err
	}
	var connections []int
	for _, s := range strings.Split(c.connectionsList, ",") {
		count, err := strconv.Atoi(s)
		if err != nil || count < 1 {
			return cli.UsageErrorf("--connections %q: expected numbers from 1", c.connectionsList)
		}
		connections = append(connections, count)
	}
	if c.fetchBytes > 0 {
		connections = []int{1}
	}
	all := tunnelVariants(c.jvms, c.jar, compressions, connections, strings.Fields(c.optionList))
	c.variants = slices.DeleteFunc(all, func(v *tunnelVariant) bool {
		return c.match != nil && !c.match.MatchString(v.name())
	})
	return c.checkHTTPServer()
}

func (c *tunnelComparison) newReport() *tunnelReport {
	direction := "from server to client"
	if c.upload {
		direction = "from client to server"
	}
	return &tunnelReport{
		Commit: c.commit, Machine: machine(), Date: time.Now().Format(time.DateOnly),
		Versions: c.versions(), Options: c.optionList, Direction: direction, Loss: c.losses[0],
		DelayMs: milliseconds(c.delay), Rounds: c.rounds, WarmUp: c.warmUp.Seconds(),
		Time: c.time.Seconds(), Results: newTunnelResults(c.variants),
	}
}

func (c *tunnelComparison) versions() map[string]string {
	all := goVersions("kcp-go", "smux", "snappy")
	c.jvms.addTo(all, "--version")
	return all
}

// run continues after a failed run, and returns an error at the end.
func (c *tunnelComparison) run(interrupt context.Context, report *tunnelReport) error {
	text := make([]byte, textBytes)
	for filled, source := 0, newTunnelText(0); filled < len(text); {
		n, _ := source.Read(text[filled:])
		filled += n
	}
	missing, total, done := 0, c.rounds*len(report.Results), 0
	for round := range c.rounds {
		for _, r := range alternating(report.Results, round) {
			done++
			fmt.Fprintf(os.Stderr, "%d of %d: %s\n", done, total, r.variant.name())
			if !c.attempt(interrupt, r, text) {
				missing++
			}
			if interrupt.Err() != nil {
				return interrupted(interrupt)
			}
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d runs are not published", missing, total)
	}
	return nil
}

// attempt repeats a run that was disturbed. It returns false if none is published.
func (c *tunnelComparison) attempt(
	interrupt context.Context, r *tunnelResult, text []byte,
) bool {
	for range c.attempts {
		sample, err := c.measure(interrupt, r.variant, text)
		if interrupt.Err() != nil {
			return false
		}
		if err != nil {
			reason := strings.TrimSpace(err.Error())
			fmt.Fprintln(os.Stderr, reason)
			r.Failed = append(r.Failed, reason)
			return false
		}
		reason := sample.refusal()
		if reason == "" {
			r.samples = append(r.samples, *sample)
			return true
		}
		fmt.Fprintf(os.Stderr, "not published: %s (%s MB/s)\n", reason, threeDigits(sample.mbps))
		r.Refused = append(r.Refused, reason)
	}
	return false
}

// alternating returns all in this order or the reverse, so that none always follows the same one.
func alternating[T any](all []T, round int) []T {
	order := slices.Clone(all)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
