package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

const (
	honestSessions = 200
	honestPeriod   = 100 * time.Millisecond
	newClients     = 100
	newPeriod      = 50 * time.Millisecond
	newTimeout     = 3 * time.Second
)

// An attackResult says what honest peers notice of a flood, and what it costs the server.
type attackResult struct {
	Kind         string  `json:"kind"`
	Flood        int     `json:"flood"`                // 1: the first that the server meets, and its compiler
	Rate         float64 `json:"datagrams_per_second"` // that were sent
	Dropped      int64   `json:"dropped_by_the_socket"`
	P50Before    float64 `json:"p50_before_ms"` // with new clients, too
	P99Before    float64 `json:"p99_before_ms"`
	P50Elsewhere float64 `json:"p50_flood_elsewhere_ms"` // the flood goes to another socket
	P99Elsewhere float64 `json:"p99_flood_elsewhere_ms"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	Max          float64 `json:"max_ms"`
	Lost         int     `json:"sessions_lost"`
	NewGo        float64 `json:"new_kcp_go_clients_in_percent"`
	NewGoMax     float64 `json:"new_kcp_go_clients_max_ms"`
	NewJava      float64 `json:"new_kcp4j_clients_in_percent"`
	NewJavaP50   float64 `json:"new_kcp4j_clients_p50_ms"`
	NewJavaMax   float64 `json:"new_kcp4j_clients_max_ms"`
	ServerCPU    float64 `json:"server_cpu_percent"` // of one core, during the flood
	MemoryBefore float64 `json:"server_rss_before_mb"`
	MemoryPeak   float64 `json:"server_rss_peak_mb"`
}

// attack floods a server of kcp4j from forged addresses. Meanwhile 200 sessions of kcp-go send a
// message of 50 bytes ten times a second, and new clients of kcp-go and kcp4j begin sessions. The
// sender of the flood has the lowest priority: one elsewhere would take no CPU time from the others.
// Before that, as many new clients begin sessions without a flood, and then while the same flood goes
// to another socket, to show what clients and sender take all the same.
func attack(flags *flag.FlagSet, args []string) error {
	classPath := flags.String("classpath", "kcp-jmh/target/benchmarks.jar",
		"class path of "+loadClass)
	var of floodSettings
	of.flags(flags)
	warmUp := flags.Duration("warm-up", 20*time.Second, "`time` before the measurements")
	floods := flags.Int("floods", 2, "how many floods the same server meets")
	var given jvms
	given.flag(flags)
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	crypt := map[string]string{"segments": "null", "offers": "null", "junk": "aes-128-gcm"}[of.kind]
	if crypt == "" || of.rate < 1000 || of.duration < newClients*newPeriod+newTimeout {
		return cli.UsageErrorf("--kind %s, --rate %d, --time %v: expected segments, offers or junk, "+
			"1000 or more, and %v or more", of.kind, of.rate, of.duration, newClients*newPeriod+newTimeout)
	}
	s := &kcpgo.Settings{NoDelay: 1, Interval: 10, Resend: 2, NC: 1, SndWnd: 256, RcvWnd: 256,
		MTU: defaultMTU, Stream: true, SockBuf: 4 << 20, Crypt: crypt, Key: "load"}
	java := append(given.orDefault()[0].command, "-cp", *classPath, loadClass,
		"--crypt="+s.Crypt, "--key="+s.Key)
	a := &attacked{floodSettings: of, settings: s, warmUp: *warmUp}
	return a.run(java, *floods)
}

// An attacked is a server under attack, and those who use it.
type attacked struct {
	floodSettings
	settings   *kcpgo.Settings
	warmUp     time.Duration
	remote     string
	honest     []*honestSession
	roundTrips roundTripRecorder
}

// run prints a result for each flood.
func (a *attacked) run(java []string, floods int) error {
	server, line, err := startJava(java, "--listen=127.0.0.1:0", "--mode=game")
	if err != nil {
		return err
	}
	defer server.end()
	a.remote = strings.TrimPrefix(line, "listening ")
	for i := range honestSessions {
		h := &honestSession{a: a}
		if h.session, err = a.settings.Dial(a.remote); err != nil {
			return err
		}
		a.honest = append(a.honest, h)
		go h.send(time.Duration(i) * honestPeriod / honestSessions)
		go h.receive()
	}
	for i := range floods {
		result, err := a.meet(java, server.cmd.Process.Pid)
		if err != nil {
			return err
		}
		result.Flood = i + 1
		if err := cli.PrintJSON(result); err != nil {
			return err
		}
	}
	return nil
}

// meet is one flood, and the time before it.
func (a *attacked) meet(java []string, server int) (*attackResult, error) {
	var arrivals [3]*measuredProcess
	for i := range arrivals {
		process, _, err := startJava(java, "--remote="+a.remote, "--mode=arrivals",
			fmt.Sprintf("--arrivals=%d", newClients),
			fmt.Sprintf("--arrival-period=%d", newPeriod.Milliseconds()))
		if err != nil {
			return nil, err
		}
		defer process.end()
		arrivals[i] = process
	}
	time.Sleep(a.warmUp)
	elsewhere, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	defer elsewhere.Close()
	result, before, control := &attackResult{Kind: a.kind}, new(attackResult), new(attackResult)
	err = errors.Join(a.flood(server, "", arrivals[0], before),
		a.flood(server, elsewhere.LocalAddr().String(), arrivals[1], control),
		a.flood(server, a.remote, arrivals[2], result))
	result.P50Before, result.P99Before = before.P50, before.P99
	result.P50Elsewhere, result.P99Elsewhere = control.P50, control.P99
	return result, err
}

func javaCommand(java []string, args ...string) *exec.Cmd {
	return exec.Command(java[0], append(java[1:len(java):len(java)], args...)...)
}

// startJava starts a side of a measurement, and returns its first line.
func startJava(java []string, args ...string) (*measuredProcess, string, error) {
	process, err := newMeasuredProcess(javaCommand(java, args...))
	if err == nil {
		err = process.cmd.Start()
	}
	if err != nil {
		return nil, "", err
	}
	line, err := process.line()
	return process, line, err
}

// flood floods a socket, or none, and measures what the sessions of the server notice.
func (a *attacked) flood(
	pid int, target string, arrivals *measuredProcess, result *attackResult,
) error {
	var sender *measuredProcess
	if target != "" {
		var err error
		if sender, err = a.newSender(target); err != nil {
			return err
		}
	}
	result.MemoryBefore = residentMB(pid)
	droppedBefore, err := socketDrops(a.remote)
	cpuBefore := cpuTimeOf(pid)
	var java arrivalsMark
	err = errors.Join(err, arrivals.request(&java))
	if err != nil {
		return err
	}
	a.roundTrips.take()
	newGo := a.beginSessions()
	if sender != nil {
		if err := sender.cmd.Start(); err != nil {
			return err
		}
		defer sender.end()
	}
	end := time.Now().Add(a.duration)
	for time.Now().Before(end) {
		result.MemoryPeak = max(result.MemoryPeak, residentMB(pid))
		time.Sleep(50 * time.Millisecond)
	}
	if sender != nil {
		sent, err := sender.line()
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(sent, &result.Rate); err != nil {
			return err
		}
	}
	during := a.roundTrips.take().(roundTrips)
	result.ServerCPU = 100 * (cpuTimeOf(pid) - cpuBefore).Seconds() / a.duration.Seconds()
	droppedAfter, err := socketDrops(a.remote)
	result.Dropped = droppedAfter - droppedBefore
	result.P50, result.P99 = percentileOrZero(&during, 50), percentileOrZero(&during, 99)
	result.Max = during.MaxUs / 1000
	err = errors.Join(err, arrivals.request(&java))
	result.NewJava, result.NewJavaMax = java.inTime()
	result.NewJavaP50 = percentileOrZero(&java.FirstEchoes, 50)
	result.NewGo, result.NewGoMax = inTime(<-newGo)
	time.Sleep(newTimeout)
	for _, h := range a.honest {
		if time.Since(time.Unix(0, h.echoedAt.Load())) > 2*time.Second {
			result.Lost++
		}
	}
	return err
}

// newSender returns the process that will send a flood, with the lowest priority, SCHED_IDLE.
func (s *floodSettings) newSender(target string) (*measuredProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return newMeasuredProcess(exec.Command("chrt", "--idle", "0", self, "attack-sender",
		"--remote="+target, "--kind="+s.kind, fmt.Sprintf("--rate=%d", s.rate),
		fmt.Sprintf("--time=%v", s.duration)))
}

// inTime returns the percentage of new clients that have had an echo in time, and the longest time
// among them, in milliseconds.
func inTime(firstEchoes []time.Duration) (percent, maxMs float64) {
	for _, d := range firstEchoes {
		if d <= newTimeout {
			percent += 100.0 / newClients
			maxMs = max(maxMs, d.Seconds()*1000)
		}
	}
	return percent, maxMs
}

// percentileOrZero is 0 if there was no message: JSON has no NaN.
func percentileOrZero(r *roundTrips, percent float64) float64 {
	if r.Messages == 0 {
		return 0
	}
	return r.percentileMs(percent)
}

// An arrivalsMark is the report of io.kcp4j.load.Arrivals.
type arrivalsMark struct {
	Begun       int        `json:"begun"`
	FirstEchoes roundTrips `json:"first_echoes"`
}

func (m *arrivalsMark) inTime() (percent, maxMs float64) {
	for _, bin := range m.FirstEchoes.Bins {
		if end := float64(bin[0]+1) * binUs / 1000; end <= newTimeout.Seconds()*1000 {
			percent += 100 * float64(bin[1]) / float64(m.Begun)
			maxMs = end
		}
	}
	return percent, maxMs
}

// An honestSession sends numbered messages at a constant rate, and expects each echo in order.
type honestSession struct {
	a        *attacked
	session  *kcp.UDPSession
	start    time.Time
	echoedAt atomic.Int64
}

func (h *honestSession) due(i int) time.Time {
	return h.start.Add(time.Duration(i) * honestPeriod)
}

func (h *honestSession) send(delay time.Duration) {
	time.Sleep(delay)
	h.start = time.Now()
	message := make([]byte, pingBytes)
	for i := 0; ; i++ {
		time.Sleep(time.Until(h.due(i)))
		binary.BigEndian.PutUint64(message, uint64(h.start.UnixNano()))
		binary.BigEndian.PutUint64(message[8:], uint64(i))
		if _, err := h.session.Write(message); err != nil {
			return
		}
	}
}

func (h *honestSession) receive() {
	message := make([]byte, pingBytes)
	for i := 0; ; i++ {
		if _, err := io.ReadFull(h.session, message); err != nil {
			return
		}
		if number := int(binary.BigEndian.Uint64(message[8:])); number != i {
			fail(fmt.Errorf("echo of message %d in place of %d", number, i))
		}
		start := time.Unix(0, int64(binary.BigEndian.Uint64(message)))
		now := time.Now()
		h.a.roundTrips.add(now.Sub(start.Add(time.Duration(i) * honestPeriod)))
		h.echoedAt.Store(now.UnixNano())
	}
}

// beginSessions begins sessions of kcp-go one after another, and returns after how long each has
// had its first echo. Those that have none are left out.
func (a *attacked) beginSessions() <-chan []time.Duration {
	var waiting sync.WaitGroup
	var mu sync.Mutex
	var firstEchoes []time.Duration
	result := make(chan []time.Duration, 1)
	waiting.Add(newClients)
	go func() {
		for range newClients {
			go func() {
				defer waiting.Done()
				if d, err := a.firstEcho(); err == nil {
					mu.Lock()
					firstEchoes = append(firstEchoes, d)
					mu.Unlock()
				}
			}()
			time.Sleep(newPeriod)
		}
		waiting.Wait()
		slices.Sort(firstEchoes)
		result <- firstEchoes
	}()
	return result
}

func (a *attacked) firstEcho() (time.Duration, error) {
	begin := time.Now()
	session, err := a.settings.Dial(a.remote)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	message := bytes.Repeat([]byte{1}, pingBytes)
	session.SetReadDeadline(begin.Add(newTimeout))
	if _, err := session.Write(message); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(session, message)
	return time.Since(begin), err
}

// socketDrops is how many datagrams the socket at an IPv4 address has dropped, since its buffer was
// full.
func socketDrops(address string) (int64, error) {
	local, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return 0, err
	}
	ipv4Table, err1 := os.ReadFile("/proc/net/udp")
	ipv6Table, err2 := os.ReadFile("/proc/net/udp6") // of a JVM's sockets, which take both
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(ipv4Table) + string(ipv6Table)) {
		fields := strings.Fields(line)
		if len(fields) == 13 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", local.Port)) {
			var drops int64
			_, err := fmt.Sscan(fields[12], &drops)
			return drops, err
		}
	}
	return 0, fmt.Errorf("no socket at %s in /proc/net/udp and udp6", address)
}
