package link

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// preferProcess keeps other processes and the Go runtime from stopping the threads of a link for
// milliseconds, until the function that it returns is called.
//
//   - All threads but the runtime's monitor get the same real-time priority, where the process may
//     ask for that. A link's thread alone would wait for others that it has preempted itself.
//   - There is no garbage collection.
//   - No thread that returns from a system call waits until less than GOMAXPROCS others run.
func preferProcess() (resume func()) {
	const manyThreads = 16
	setPolicy(unix.SCHED_FIFO)
	gcPercent, threads := debug.SetGCPercent(-1), runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(threads, manyThreads))
	return func() {
		runtime.GOMAXPROCS(threads)
		debug.SetGCPercent(gcPercent)
		setPolicy(unix.SCHED_NORMAL)
	}
}

// setPolicy sets the policy of all threads, which those that they start inherit, but for the
// runtime's monitor. That one looks for threads in system calls every 20 µs, and with real-time
// priority would preempt what is measured as often.
func setPolicy(policy uint32) {
	threads := ownThreads()
	for i, thread := range threads {
		if i != monitorThread {
			setThreadPolicy(thread, policy)
		}
	}
}

// monitorThread is the index of the runtime's monitor: the first thread that a process starts.
const monitorThread = 1

// ownThreads returns the threads of this process, in the order in which they were started.
func ownThreads() []int {
	tasks, _ := os.ReadDir("/proc/self/task")
	var threads []int
	for _, task := range tasks {
		if thread, err := strconv.Atoi(task.Name()); err == nil {
			threads = append(threads, thread)
		}
	}
	slices.Sort(threads)
	return threads
}

// setThreadPolicy does nothing if the process may not set this policy: the calibration shows
// whether the link is precise enough without it. The thread 0 is the current one.
func setThreadPolicy(thread int, policy uint32) {
	attributes := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}
	if policy == unix.SCHED_FIFO {
		attributes.Priority = 10
	}
	unix.SchedSetAttr(thread, &attributes, 0)
}

// lockOrdinaryThread gives the goroutine a thread for the rest of its life, whose child processes
// have no priority. The thread ends with the goroutine.
func lockOrdinaryThread() {
	runtime.LockOSThread()
	setThreadPolicy(0, unix.SCHED_NORMAL)
}
