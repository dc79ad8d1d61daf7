package main

import (
	"context"
	"errors"
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
	config := c.linkOf(v)
	up, down := config, config
	up.Loss, down.Loss = v.losses(loss / 100)
	up.Seed, down.Seed = uint64(2*seed), uint64(2*seed+1)
	l, err := c.open(up, down)
	if err != nil {
		return nil, errHarness{err}
	}
	defer l.Close()

	peers := &latencyPeers{link: l}
	defer peers.end()
	if peers.measured, err = c.connect(v.client, v.server, l); err != nil {
		return nil, err
	}
	for _, rival := range v.rivals {
		if err := wait(interrupt, rival.later); err != nil {
			return nil, err
		}
		pair, err := c.connect(rival.client, rival.server, l)
		if err != nil {
			return nil, err
		}
		peers.rivals = append(peers.rivals, pair)
	}

	if err := wait(interrupt, c.warmUp); err != nil {
		return nil, err
	}
	before, err := c.look(v, peers)
	if err != nil {
		return nil, err
	}
	if err := wait(interrupt, c.time); err != nil {
		return nil, err
	}
	after, err := c.look(v, peers)
	if err != nil {
		return nil, err
	}
	r := c.newRun(v, loss, seed)
	r.setFigures(&before, &after)
	if v.isBulk() {
		r.checkDelivered()
	} else {
		r.check(v.messagesPerSecond * r.Time.Seconds())
	}
	r.checkRivals()
	return r, nil
}

// setFigures sets what was measured between two views.
func (r *latencyRun) setFigures(before, after *latencyView) {
	r.Time = after.at.Sub(before.at)
	r.Echoes = after.echoes
	if r.variant.isBulk() {
		r.Delivered = after.mark.rateSince(before.mark)
	}
	for i, mark := range after.rivalMarks {
		r.RivalDelivered = append(r.RivalDelivered, mark.rateSince(before.rivalMarks[i]))
	}
	counted := after.link.Since(before.link)
	r.Up, r.Down = counted.Up, counted.Down
	r.WaitMean, r.WaitP95 = counted.MeanWait(), counted.Wait(95)
	r.ExcessP99, r.Excess999 = counted.Excess(99), counted.Excess(99.9)
	r.OtherCPU = 100 * (after.otherCPU - before.otherCPU).Seconds() / r.Time.Seconds()
}

// linkOf returns both directions of the link of a variant, but for loss and seed.
func (c *latencyComparison) linkOf(v *latencyVariant) link.Config {
	config := c.config
	if v.bottleneck != nil {
		config.Rate = v.bottleneck.bytesPerSecond()
		config.QueueBytes = v.bottleneck.queueBytes(2 * config.Delay)
	}
	return config
}

func (c *latencyComparison) newRun(v *latencyVariant, loss float64, seed int) *latencyRun {
	config := c.linkOf(v)
	return &latencyRun{
		Work: v.work, Transport: v.transport, Settings: v.settings, Loss: loss,
		Burst: config.Burst, Delay: config.Delay, Jitter: config.Jitter, Rate: config.Rate,
		QueueBytes: config.QueueBytes, Seed: seed, Echoes: &roundTrips{}, variant: v,
	}
}

// latencyPeers are the processes at both ends of a link.
type latencyPeers struct {
	link     *link.Link
	measured *processPair // nil: not connected
	rivals   []*processPair
}

func (p *latencyPeers) end() {
	for _, pair := range p.pairs() {
		pair.end()
	}
}

func (p *latencyPeers) pairs() []*processPair {
	if p.measured == nil {
		return p.rivals
	}
	return append(slices.Clone(p.rivals), p.measured)
}

// A processPair is a server, and a client that is connected to it.
type processPair struct{ server, client *measuredProcess }

func (p *processPair) end() {
	p.client.end()
	p.server.end()
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
	clientSide, serverSide latencySide, l *link.Link,
) (*processPair, error) {
	server, err := c.start(serverSide, l.OnServer, fmt.Sprintf("--listen=%v:0", l.ServerAddress()))
	if err != nil {
		return nil, err
	}
	address, err := listening(server)
	if err == nil {
		address, err = l.Connect(address)
	}
	var client *measuredProcess
	if err == nil {
		client, err = c.start(clientSide, l.OnClient, fmt.Sprintf("--remote=%v", address))
	}
	if err != nil {
		server.end()
		return nil, err
	}
	return &processPair{server, client}, nil
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
	at         time.Time // of the link's snapshot
	link       link.Snapshot
	echoes     *roundTrips
	mark       mark // bulk data
	rivalMarks []mark
	otherCPU   time.Duration // but for these processes, this one and its loops
}

func (c *latencyComparison) look(v *latencyVariant, peers *latencyPeers) (latencyView, error) {
	view := latencyView{at: time.Now(), link: peers.link.Snapshot(), echoes: &roundTrips{}}
	if err := view.ask(v, peers); err != nil {
		return view, err
	}
	var err error
	view.otherCPU, err = c.otherCPU(peers.pairs())
	return view, err
}

// otherCPU is the CPU time that neither these processes have used, nor this one and its loops.
func (c *latencyComparison) otherCPU(pairs []*processPair) (time.Duration, error) {
	machine, err := machineCPUTime()
	if err != nil {
		return 0, errHarness{err}
	}
	loops, err := c.idleLoops.cpuTime()
	if err != nil {
		return 0, errHarness{err}
	}
	other := machine - loops
	pids := []int{os.Getpid()}
	for _, pair := range pairs {
		pids = append(pids, pair.server.cmd.Process.Pid, pair.client.cmd.Process.Pid)
	}
	for _, pid := range pids {
		used, err := cpuTime(pid)
		if err != nil {
			return 0, err
		}
		other -= used
	}
	return other, nil
}

// ask has the processes report what is measured.
func (view *latencyView) ask(v *latencyVariant, peers *latencyPeers) (err error) {
	if v.isBulk() {
		view.mark, err = peers.measured.server.mark()
	} else if v.serverMeasures {
		err = peers.measured.server.request(view.echoes)
	} else {
		err = peers.measured.client.request(view.echoes)
	}
	for _, rival := range peers.rivals {
		mark, rivalErr := rival.server.mark()
		view.rivalMarks = append(view.rivalMarks, mark)
		err = errors.Join(err, rivalErr)
	}
	return err
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
