package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
)

// A runningTunnel is a client and a server, and the link between them.
type runningTunnel struct {
	server, client *measuredProcess
	link           *link.Link // nil: they send to each other
	address        string     // where the client accepts TCP connections
}

// openTunnel starts a tunnel to the target.
func (c *tunnelComparison) openTunnel(
	v *tunnelVariant, target string, loss float64,
) (t *runningTunnel, err error) {
	t = &runningTunnel{}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	t.server, err = startTunnel(v.server, "tunnel-server", v.options,
		"--listen=127.0.0.1:0", "--target="+target)
	if err != nil {
		return t, err
	}
	remote, err := listening(t.server)
	if err != nil {
		return t, err
	}
	if loss > 0 || c.delay > 0 {
		config := link.Config{Loss: loss / 100, Delay: c.delay, Seed: 1}
		other := config
		other.Seed = 2
		t.link = link.NewRelay(config, other)
		if remote, err = t.link.Connect(remote); err != nil {
			return t, err
		}
	}
	t.client, err = startTunnel(v.client, "tunnel-client", v.options,
		"--localaddr=127.0.0.1:0", fmt.Sprintf("--remoteaddr=%v", remote))
	if err != nil {
		return t, err
	}
	var local netip.AddrPort
	local, err = listening(t.client)
	t.address = local.String()
	return t, err
}

// startTunnel starts one end, which ends with this process at the latest.
func startTunnel(
	p program, command string, options []string, addresses ...string,
) (*measuredProcess, error) {
	args := slices.Concat(p.command[1:], []string{command}, addresses, options)
	if p.protocol == kcpOfJava {
		args = append(args, "--congestion-control=none") // that of kcp-go in kcptun's modes
	}
	process, err := newMeasuredProcess(exec.Command(p.command[0], args...))
	if err != nil {
		return nil, err
	}
	process.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.cmd.Start(); err != nil {
		return nil, err
	}
	return process, nil
}

func (t *runningTunnel) close() {
	for _, process := range []*measuredProcess{t.client, t.server} {
		if process != nil {
			process.cmd.Process.Signal(syscall.SIGTERM)
			process.end()
		}
	}
	if t.link != nil {
		t.link.Close()
	}
}

// messages are the last ones of both ends, which must have ended.
func (t *runningTunnel) messages() string {
	return lastLines(t.client.stderr.String()) + lastLines(t.server.stderr.String())
}

func lastLines(s string) string {
	const most = 5
	lines := slices.Collect(strings.Lines(s))
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// measure runs a tunnel with TCP connections that never end.
func (c *tunnelComparison) measure(
	interrupt context.Context, v *tunnelVariant, text []byte,
) (*tunnelSample, error) {
	load, err := newTunnelLoad(text, v.connections, c.upload)
	if err != nil {
		return nil, err
	}
	defer load.close()
	tunnel, err := c.openTunnel(v, load.target(), c.losses[0])
	if err != nil {
		return nil, err
	}
	sample, err := c.measureLoad(interrupt, v, tunnel, load)
	load.close()
	tunnel.close()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, tunnel.messages())
	}
	return sample, nil
}

func (c *tunnelComparison) measureLoad(
	interrupt context.Context, v *tunnelVariant, tunnel *runningTunnel, load *tunnelLoad,
) (*tunnelSample, error) {
	if err := load.connect(tunnel.address); err != nil {
		return nil, err
	}
	if err := load.awaitAll(interrupt); err != nil {
		return nil, err
	}
	warmUp := c.warmUp
	if v.isCompiled() {
		warmUp = min(warmUp, compiledWarmUp)
	}
	if err := wait(interrupt, warmUp); err != nil {
		return nil, err
	}
	before, err := tunnel.look(load)
	if err != nil {
		return nil, err
	}
	if err := wait(interrupt, c.time); err != nil {
		return nil, err
	}
	after, err := tunnel.look(load)
	if err != nil {
		return nil, err
	}
	return before.until(after)
}

// A tunnelView has what was counted until one instant.
type tunnelView struct {
	at                 time.Time
	received           []int64
	cpu                time.Duration // of both ends
	otherCPU           time.Duration // of the machine, but for both ends and this process
	clientMB, serverMB float64
}

func (t *runningTunnel) look(load *tunnelLoad) (*tunnelView, error) {
	if err := load.failure(); err != nil {
		return nil, err
	}
	v := &tunnelView{at: time.Now(), received: load.counts()}
	machine, err := machineCPUTime()
	if err != nil {
		return nil, err
	}
	own, err := cpuTime(os.Getpid())
	if err != nil {
		return nil, err
	}
	client, err := cpuTime(t.client.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	server, err := cpuTime(t.server.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	v.cpu = client + server
	v.otherCPU = machine - own - v.cpu
	v.clientMB = residentMB(t.client.cmd.Process.Pid)
	v.serverMB = residentMB(t.server.cmd.Process.Pid)
	return v, nil
}

func (v *tunnelView) until(later *tunnelView) (*tunnelSample, error) {
	bytes, err := receivedSince(v.received, later.received)
	if err != nil {
		return nil, err
	}
	seconds := later.at.Sub(v.at).Seconds()
	return &tunnelSample{
		mbps:     float64(bytes) / 1e6 / seconds,
		cpuPerGB: (later.cpu - v.cpu).Seconds() / (float64(bytes) / 1e9),
		clientMB: later.clientMB,
		serverMB: later.serverMB,
		otherCPU: 100 * (later.otherCPU - v.otherCPU).Seconds() / seconds,
	}, nil
}
