package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
)

// An errHarness is an error of the comparison, not of what it measures.
type errHarness struct{ error }

// measure runs a variant over a new link.
func (c *latencyComparison) measure(
	interrupt context.Context, v *latencyVariant, loss float64, seed int,
) (*latencyRun, error) {
	up, down := c.config, c.config
	up.Loss, down.Loss = v.losses(loss / 100)
	up.Seed, down.Seed = uint64(2*seed), uint64(2*seed+1)
	l, err := c.open(up, down)
	if err != nil {
		return nil, errHarness{err}
	}
	defer l.Close()

	server, client, err := c.connect(v, l)
	if err != nil {
		return nil, err
	}
	defer server.end()
	defer client.end()

	if err := wait(interrupt, c.warmUp); err != nil {
		return nil, err
	}
	before, err := c.look(l, server, client)
	if err != nil {
		return nil, err
	}
	if err := wait(interrupt, c.time); err != nil {
		return nil, err
	}
	after, err := c.look(l, server, client)
	if err != nil {
		return nil, err
	}
	counted := after.link.Since(before.link)
	r := c.newRun(v, loss, seed)
	r.Echoes = after.echoes
	r.Up, r.Down = counted.Up, counted.Down
	r.ExcessP99, r.Excess999 = counted.Excess(99), counted.Excess(99.9)
	r.OtherCPU = 100 * (after.otherCPU - before.otherCPU).Seconds() / c.time.Seconds()
	r.check(v.messagesPerSecond * c.time.Seconds())
	return r, nil
}

func (c *latencyComparison) newRun(v *latencyVariant, loss float64, seed int) *latencyRun {
	return &latencyRun{
		Work: v.work, Transport: v.transport, Settings: v.settings, Loss: loss,
		Burst: c.config.Burst, Delay: c.config.Delay, Jitter: c.config.Jitter, Seed: seed,
		Echoes: &roundTrips{}, variant: v,
	}
}

// wait returns an error if it was interrupted.
func wait(interrupt context.Context, d time.Duration) error {
	select {
	case <-interrupt.Done():
		return interrupt.Err()
	case <-time.After(d):
		return nil
	}
}

// connect starts a server, and then a client.
func (c *latencyComparison) connect(
	v *latencyVariant, l *link.Link,
) (server, client *measuredProcess, err error) {
	server, err = c.start(v.server, l.OnServer, fmt.Sprintf("--listen=%v:0", l.ServerAddress()))
	if err != nil {
		return nil, nil, err
	}
	address, err := listening(server)
	if err == nil {
		address, err = l.Connect(address)
	}
	if err == nil {
		client, err = c.start(v.client, l.OnClient, fmt.Sprintf("--remote=%v", address))
	}
	if err != nil {
		server.end()
	}
	return server, client, err
}

// listening returns the address of a server that has started.
func listening(server *measuredProcess) (netip.AddrPort, error) {
	line, err := server.line()
	if err != nil {
		return netip.AddrPort{}, err
	}
	address, ok := strings.CutPrefix(line, "listening ")
	if !ok {
		return netip.AddrPort{}, errUnavailable{line}
	}
	return netip.ParseAddrPort(address)
}

// A latencyView has what was counted until one instant, and the round trips since the last view.
type latencyView struct {
	link     link.Snapshot
	echoes   *roundTrips
	otherCPU time.Duration // of the machine, but for the two processes, this one and its loops
}

func (c *latencyComparison) look(
	l *link.Link, server, client *measuredProcess,
) (latencyView, error) {
	view := latencyView{link: l.Snapshot(), echoes: &roundTrips{}}
	if err := client.request(view.echoes); err != nil {
		return view, err
	}
	machine, err := machineCPUTime()
	if err != nil {
		return view, errHarness{err}
	}
	loops, err := c.idleLoops.cpuTime()
	if err != nil {
		return view, errHarness{err}
	}
	view.otherCPU = machine - loops
	for _, pid := range []int{server.cmd.Process.Pid, client.cmd.Process.Pid, os.Getpid()} {
		used, err := cpuTime(pid)
		if err != nil {
			return view, err
		}
		view.otherCPU -= used
	}
	return view, nil
}

// start starts one side on the host to which the function belongs.
func (c *latencyComparison) start(
	side latencySide, on func(func() error) error, role string,
) (*measuredProcess, error) {
	args := slices.Concat(side.program.command[1:], []string{role}, side.args)
	process, err := newMeasuredProcess(exec.Command(side.program.command[0], args...))
	if err != nil {
		return nil, err
	}
	return process, on(process.cmd.Start)
}

func newCalibrationResult(c link.Calibration) *calibrationResult {
	return &calibrationResult{Probes: c.Probes, P50Ms: milliseconds(c.P50),
		P99Ms: milliseconds(c.P99), MaxMs: milliseconds(c.Max)}
}
