package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
)

func compareLoad(flags *flag.FlagSet, args []string) error {
	classPath := flags.String("classpath", "kcp-jmh/target/benchmarks.jar",
		"class path of "+loadClass)
	rounds := flags.Int("rounds", 5, "how often to run each transfer, in turn")
	warmUp := flags.Duration("warm-up", 20*time.Second,
		"`time` before each measurement with a JVM, for its compiler")
	duration := flags.Duration("time", 10*time.Second, "`time` of each measurement")
	window := flags.Int("window", 1024, "of KCP sessions, both ways, in `segments`")
	mtu := flags.Int("mtu", defaultMTU, "of KCP sessions, in `bytes`")
	match := flags.String("match", "",
		"only transfers whose name, as the progress shows it, this regular `expression` matches")
	commit := flags.String("commit", "", "`version` of kcp4j, for the report")
	jsonFile := flags.String("json", "", "also write the figures to this `file`")
	plotFile := flags.String("plot", "", "also plot the figures as SVG to this `file`")
	var given jvms
	given.flag(flags)
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return cli.UsageErrorf("--match: %v", err)
	}

	jvms := given.orDefault()
	session := []string{"--key=load", fmt.Sprintf("--mtu=%d", *mtu),
		fmt.Sprintf("--sndwnd=%d", *window), fmt.Sprintf("--rcvwnd=%d", *window)}
	all := slices.DeleteFunc(transfers(newPrograms(jvms, *classPath, *mtu), session),
		func(t *transfer) bool { return !pattern.MatchString(t.name()) })
	results, err := runInTurn(all, *rounds, *warmUp, *duration)

	report := newTransferReport(results)
	report.Commit = *commit
	report.Versions = versions(jvms, *classPath, loadClass)
	report.Session = fmt.Sprintf(
		"nodelay 1, interval 10, resend 2, nc 1; window %d, MTU %d", *window, *mtu)
	report.Rounds, report.WarmUp, report.Time = *rounds, warmUp.Seconds(), duration.Seconds()
	report.print()
	if *jsonFile != "" {
		err = errors.Join(err, writeJSON(*jsonFile, report))
	}
	if *plotFile != "" {
		err = errors.Join(err, os.WriteFile(*plotFile, report.plot(), 0o644))
	}
	return err
}

// loadClass is what runs servers and clients of kcp4j and Netty.
const loadClass = "io.kcp4j.load.Load"

// programs can be a server or a client. The first JVM also runs those that do not speak KCP.
type programs struct {
	mtu       int // of KCP sessions
	kcpGo     program
	kcp4j     []program
	bbr       program // the first of kcp4j, with that congestion control
	tcp, quic program
}

func newPrograms(jvms jvms, classPath string, mtu int) *programs {
	java := func(jvm jvm, name, transport string, protocol protocol) program {
		return program{name, slices.Concat(jvm.command, []string{
			"-cp", classPath, loadClass, "--transport=" + transport}), protocol}
	}
	p := &programs{
		mtu:   mtu,
		kcpGo: program{"kcp-go", []string{os.Args[0], "measured", "--interval=10"}, kcpOfGo},
		tcp:   java(jvms[0], "Netty TCP", "tcp", notKCP),
		quic:  java(jvms[0], "Netty QUIC", "quic", notKCP),
	}
	for _, jvm := range jvms {
		p.kcp4j = append(p.kcp4j, java(jvm, jvm.name, "kcp", kcpOfJava))
	}
	p.bbr = java(jvms[0], jvms[0].name+", BBR", "kcp", kcpOfJava)
	p.bbr.command = append(p.bbr.command, "--congestion-control=bbr")
	return p
}

// A layering is a combination of cipher and FEC.
type layering struct {
	name   string
	flags  []string
	mixed  bool      // also measured with kcp4j on one side and kcp-go on the other
	others []program // to compare with
}

func (p *programs) layerings() []layering {
	fec := []string{"--datashard=10", "--parityshard=3"}
	return []layering{
		{"plain", nil, true, []program{p.bbr, p.tcp}},
		{"aes-128-gcm", []string{"--crypt=aes-128-gcm"}, false, []program{p.quic}},
		{"salsa20 + FEC 10/3", append([]string{"--crypt=salsa20"}, fec...), false, nil},
		{"aes + FEC 10/3", append([]string{"--crypt=aes"}, fec...), false, nil},
	}
}

// transfers returns all transfers.
func transfers(p *programs, session []string) []*transfer {
	var all []*transfer
	add := func(mode, work string, layers layering, client, server program) {
		peers := client.name
		if client.name != server.name {
			peers += " to " + server.name
		}
		all = append(all, &transfer{
			work + ", " + layers.name, peers, mode, slices.Concat(session, layers.flags), client, server})
	}
	kcps := slices.Concat([]program{p.kcpGo}, p.kcp4j)
	for _, mode := range []struct{ name, work string }{{"sink", "one way"}, {"echo", "echo"}} {
		for _, layers := range p.layerings() {
			for _, program := range slices.Concat(kcps, layers.others) {
				add(mode.name, mode.work, layers, program, program)
			}
			if layers.mixed {
				add(mode.name, mode.work, layers, p.kcp4j[0], p.kcpGo)
				add(mode.name, mode.work, layers, p.kcpGo, p.kcp4j[0])
			}
		}
	}
	for _, program := range kcps {
		add("ping", "ping under load", p.layerings()[0], program, program)
	}
	return all
}

// runInTurn continues after a failed run, and returns an error at the end.
func runInTurn(
	all []*transfer, rounds int, warmUp, duration time.Duration,
) ([]*transferResult, error) {
	results := make([]*transferResult, len(all))
	for i, t := range all {
		results[i] = &transferResult{transfer: t, Work: t.work, Peers: t.peers}
	}
	failed := 0
	for round := range rounds {
		for i, r := range results {
			if r.Unavailable != "" {
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d of %d, %d of %d: %s\n",
				round+1, rounds, i+1, len(results), r.name())
			if err := r.run(warmUp, duration); err != nil {
				fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
				failed++
			}
		}
	}
	if failed > 0 {
		return results, fmt.Errorf("%d runs have failed", failed)
	}
	return results, nil
}

// run adds a sample, or records why the transfer is unavailable.
func (r *transferResult) run(warmUp, duration time.Duration) error {
	s, err := r.transfer.run(warmUp, duration)
	var missing errUnavailable
	if errors.As(err, &missing) {
		r.Unavailable = missing.reason
		return nil
	}
	if err == nil {
		r.speeds = append(r.speeds, s)
	}
	return err
}
