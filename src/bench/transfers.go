package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A program is a measured server or client: this one, or io.kcp4j.load.Load.
type program struct {
	name     string
	command  []string
	protocol protocol
}

// A protocol is what a program speaks, and whose implementation it uses.
type protocol int

const (
	kcpOfGo protocol = iota
	kcpOfJava
	notKCP
)

// A transfer is a measurement: what is sent, and by whom.
type transfer struct {
	work           string   // what is sent, and how
	peers          string   // names of client and server
	mode           string   // of the client
	session        []string // arguments of KCP sessions
	client, server program
}

func (t *transfer) name() string {
	return t.work + ": " + t.peers
}

// A speed is the result of one run of a transfer.
type speed struct {
	MBps         float64 `json:"mb_s"`
	CPUPerGB     float64 `json:"cpu_s_per_gb"` // both processes, user and system
	PingP50      float64 `json:"ping_p50_us,omitempty"`
	PingP99      float64 `json:"ping_p99_us,omitempty"`
	bytes, pings int64
}

// compiledWarmUp is the warm-up of programs that need no compiler, only to fill their windows.
const compiledWarmUp = 2 * time.Second

// errUnavailable says why a peer cannot run on this machine.
type errUnavailable struct{ reason string }

func (e errUnavailable) Error() string { return e.reason }

// run starts both processes, waits for the warm-up, and measures them for the duration.
func (t *transfer) run(warmUp, duration time.Duration) (speed, error) {
	server, err := t.start(t.server, "--listen=127.0.0.1:0")
	if err != nil {
		return speed{}, err
	}
	defer server.end()
	line, err := server.line()
	if err != nil {
		return speed{}, err
	}
	address, ok := strings.CutPrefix(line, "listening ")
	if !ok {
		return speed{}, errUnavailable{line}
	}
	client, err := t.start(t.client, "--remote="+address, "--mode="+t.mode)
	if err != nil {
		return speed{}, err
	}
	defer client.end()

	if t.client.protocol == kcpOfGo && t.server.protocol == kcpOfGo {
		warmUp = min(warmUp, compiledWarmUp)
	}
	time.Sleep(warmUp)
	before, err := glance(server, client)
	if err != nil {
		return speed{}, err
	}
	time.Sleep(duration)
	after, err := glance(server, client)
	if err != nil {
		return speed{}, err
	}
	result := before.until(after, t.mode)
	if result.bytes == 0 || (t.mode == "ping" && result.pings == 0) {
		client.end()
		server.end()
		return speed{}, fmt.Errorf("nothing arrived\n%s%s",
			server.stderr.String(), client.stderr.String())
	}
	return result, nil
}

func (t *transfer) start(p program, role ...string) (*measuredProcess, error) {
	args := append(p.command[1:len(p.command):len(p.command)], role...)
	if p.protocol != notKCP {
		args = append(args, t.session...)
	}
	process, err := newMeasuredProcess(exec.Command(p.command[0], args...))
	if err != nil {
		return nil, err
	}
	return process, process.cmd.Start()
}

// A view is a mark of both sides, and the CPU time of both processes.
type view struct {
	server, client mark
	cpu            time.Duration
}

func glance(server, client *measuredProcess) (view, error) {
	var v view
	var errs [4]error
	var cpus [2]time.Duration
	v.server, errs[0] = server.mark()
	v.client, errs[1] = client.mark()
	cpus[0], errs[2] = cpuTime(server.cmd.Process.Pid)
	cpus[1], errs[3] = cpuTime(client.cmd.Process.Pid)
	v.cpu = cpus[0] + cpus[1]
	return v, errors.Join(errs[:]...)
}

// until returns the speed between two views. Bytes and time are those of the side that receives the
// bytes.
func (v view) until(later view, mode string) speed {
	from, to := v.server, later.server
	if mode == "echo" {
		from, to = v.client, later.client
	}
	count := to.Bytes - from.Bytes
	return speed{
		MBps:     to.rateSince(from) / 1e6,
		CPUPerGB: (later.cpu - v.cpu).Seconds() / (float64(count) / 1e9),
		PingP50:  later.client.P50,
		PingP99:  later.client.P99,
		bytes:    count,
		pings:    int64(later.client.Pings),
	}
}
