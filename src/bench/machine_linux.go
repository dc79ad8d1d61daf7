package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machineCPUTime is the time since boot in which the cores were not idle. It includes the time in
// which the host of a virtual machine did not run them. The times of /proc/stat other than idle are
// sampled by ticks, and miss short work.
func machineCPUTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var user, nice, system, idle, ioWait time.Duration
	if _, err = fmt.Sscanf(string(stat), "cpu %d %d %d %d %d",
		&user, &nice, &system, &idle, &ioWait); err != nil {
		return 0, err
	}
	var sinceBoot unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot)
	cores := strings.Count(string(stat), "\ncpu")
	return time.Duration(cores)*time.Duration(sinceBoot.Nano()) - (idle+ioWait)*cpuTick, err
}
