package link

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// calmRuntime keeps the Go runtime from stopping the threads of a link for milliseconds, until the
// function that it returns is called.
//
//   - There is no garbage collection.
//   - No thread that returns from a system call waits until less than GOMAXPROCS others run.
//
// The threads of the runtime have no priority: its monitor wakes up thousands of times a second,
// and would preempt what is measured.
func calmRuntime() (resume func()) {
	const manyThreads = 16
	gcPercent, threads := debug.SetGCPercent(-1), runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(threads, manyThreads))
	return func() {
		runtime.GOMAXPROCS(threads)
		debug.SetGCPercent(gcPercent)
	}
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
