package link

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOnlyTheThreadsOfALinkHavePriority(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	before := preferredThreads(t) // a main thread does not end when it was one of a link
	l := NewRelay(Config{Delay: delay}, Config{Delay: delay})
	server, client, err := l.probeSockets(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	defer unix.Close(client)
	unix.Write(client, []byte{0}) // the threads start with the first datagram

	defer l.Close()
	const pipes = 2
	for end := time.Now().Add(5 * time.Second); preferredThreads(t) != before+pipes; {
		if time.Now().After(end) {
			t.Fatalf("%d more threads have real-time priority", preferredThreads(t)-before)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTheMonitorOfTheRuntimeSleepsWhileALinkIsOpen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const most = 100 // with its usual slack there are several thousands
	if wakeUps := monitorWakeUpsOfCalibration(t, func() {}); wakeUps > most {
		t.Errorf("the monitor woke up %d times", wakeUps)
	}
	usual := func() { setMonitorSlack(0) }
	if wakeUps := monitorWakeUpsOfCalibration(t, usual); wakeUps <= most {
		t.Errorf("%d wake-ups with the usual slack: another thread than the monitor", wakeUps)
	}
}

// monitorWakeUpsOfCalibration calls prepare when the link is open.
func monitorWakeUpsOfCalibration(t *testing.T, prepare func()) int {
	l := NewRelay(Config{Delay: delay}, Config{Delay: delay})
	defer l.Close()
	prepare()
	before := monitorWakeUps(t)
	if _, err := l.Calibrate(delay, time.Second); err != nil {
		t.Fatal(err)
	}
	return monitorWakeUps(t) - before
}

// monitorWakeUps returns how often the monitor has slept.
func monitorWakeUps(t *testing.T) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", monitor))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
	line, _, _ := strings.Cut(rest, "\n")
	wakeUps, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return wakeUps
}

func preferredThreads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	preferred := 0
	for _, task := range tasks {
		thread, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		attributes, err := unix.SchedGetAttr(thread, 0) // fails if the thread has ended
		if err == nil && attributes.Policy == unix.SCHED_FIFO {
			preferred++
		}
	}
	return preferred
}
