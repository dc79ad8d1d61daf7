package link

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// calmRuntime keeps the Go runtime from stopping the threads of a link for milliseconds, until the
// function that it returns is called.
//
//   - There is no garbage collection.
//   - No thread that returns from a system call waits until less than GOMAXPROCS others run.
//   - The monitor of the runtime wakes up once a second, in place of thousands of times. Each time
//     the runtime of Go 1.26 marks the threads in system calls, and a marked thread spins at the
//     end of its call. If a thread of the link preempts the monitor just then, the scheduler does
//     not run the monitor again for tens of milliseconds.
//
// The threads of the runtime have no priority: the monitor would preempt what is measured.
func calmRuntime() (resume func()) {
	const manyThreads = 16
	const calmMonitor, usualMonitor = time.Second, 0 // 0: the default
	gcPercent, threads := debug.SetGCPercent(-1), runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(threads, manyThreads))
	setMonitorSlack(calmMonitor)
	return func() {
		setMonitorSlack(usualMonitor)
		runtime.GOMAXPROCS(threads)
		debug.SetGCPercent(gcPercent)
	}
}

// monitor is the thread of the monitor of the runtime, which is the first one that it starts. Later
// threads can have lower ids, once these have wrapped. 0 if there is no telling.
var monitor, _ = firstThread()

// setMonitorSlack allows the monitor to sleep longer than it asks for, where the process may do so.
func setMonitorSlack(slack time.Duration) {
	if monitor != 0 {
		file := fmt.Sprintf("/proc/%d/timerslack_ns", monitor)
		os.WriteFile(file, []byte(strconv.FormatInt(slack.Nanoseconds(), 10)), 0)
	}
}

// usualTimerSlack undoes what this thread may have inherited from the monitor: processes that it
// starts would inherit it, too.
func usualTimerSlack() {
	unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(usualSlack.Nanoseconds()), 0, 0, 0)
}

// usualSlack is that of Linux.
const usualSlack = 50 * time.Microsecond

// firstThread returns the thread of this process with the lowest id, the main thread left out.
func firstThread() (int, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, err
	}
	first := 0
	for _, task := range tasks {
		thread, err := strconv.Atoi(task.Name())
		if err != nil {
			return 0, err
		}
		if thread != os.Getpid() && (first == 0 || thread < first) {
			first = thread
		}
	}
	return first, nil
}

// lockPreciseThread gives the goroutine a thread for the rest of its life, which wakes up without
// slack and has real-time priority, where the process may ask for that: the calibration shows
// whether the link is precise enough without it. The thread ends with the goroutine.
func lockPreciseThread() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	attributes := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 10,
	}
	unix.SchedSetAttr(0, &attributes, 0)
}
