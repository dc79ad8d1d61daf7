package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// maxLineBytes is more than a histogram of round trips takes.
const maxLineBytes = 16 << 20

// A measuredProcess is a server or a client.
type measuredProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Scanner
	stderr bytes.Buffer
}

// newMeasuredProcess connects the command, which the caller starts, to pipes.
func newMeasuredProcess(cmd *exec.Cmd) (*measuredProcess, error) {
	p := &measuredProcess{cmd: cmd}
	cmd.Stderr = &p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdin, p.stdout = stdin, bufio.NewScanner(stdout)
	p.stdout.Buffer(nil, maxLineBytes)
	return p, nil
}

func (p *measuredProcess) line() (string, error) {
	if !p.stdout.Scan() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		return "", fmt.Errorf("%s has ended\n%s", p.cmd, p.stderr.String())
	}
	return p.stdout.Text(), nil
}

func (p *measuredProcess) mark() (mark, error) {
	var m mark
	return m, p.request(&m)
}

// request decodes the answer to a line "mark".
func (p *measuredProcess) request(answer any) error {
	if _, err := io.WriteString(p.stdin, "mark\n"); err != nil {
		return err
	}
	line, err := p.line()
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(line), answer)
}

// end gives a JVM time to close its sessions.
func (p *measuredProcess) end() {
	p.stdin.Close()
	kill := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	p.cmd.Wait()
}

// cpuTick is USER_HZ, on every architecture that Go supports.
const cpuTick = time.Second / 100

// cpuTime is the CPU time of all threads of a process (Linux only).
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPUTime(string(stat))
}

// parseCPUTime adds user and system time, the 14th and 15th field. The second field is the
// program's name in parentheses, and may contain any character.
func parseCPUTime(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("unexpected: %q", stat)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * cpuTick, errors.Join(err1, err2)
}

// residentMB is the memory of a process that is in use, in 10^6 bytes; 0 if it is unknown.
func residentMB(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		var kB float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kB); n == 1 {
			return kB * 1024 / 1e6
		}
	}
	return 0
}
