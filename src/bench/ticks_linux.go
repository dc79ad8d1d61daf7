package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// lockPreciseThread gives the goroutine a thread that wakes up without slack.
func lockPreciseThread() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// sleepUntil is more precise than time.Sleep, which may take a millisecond longer.
func sleepUntil(instant time.Time) {
	for wait := time.Until(instant); wait > 0; wait = time.Until(instant) {
		duration := unix.NsecToTimespec(int64(wait))
		unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &duration, nil)
	}
}
