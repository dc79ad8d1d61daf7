//go:build !linux

package main

import (
	"errors"
	"flag"
	"time"
)

func compareLatency(*flag.FlagSet, []string) error { return errNotLinux }

func compareCongestion(*flag.FlagSet, []string) error { return errNotLinux }

func compareLanes(*flag.FlagSet, []string) error { return errNotLinux }

func compareRPC(*flag.FlagSet, []string) error { return errNotLinux }

func compareRecovery(*flag.FlagSet, []string) error { return errNotLinux }

func compareTunnel(*flag.FlagSet, []string) error { return errNotLinux }

func onLink(*flag.FlagSet, []string) error { return errNotLinux }

var errNotLinux = errors.New("this needs Linux")

func lockPreciseThread() {}

func sleepUntil(instant time.Time) { time.Sleep(time.Until(instant)) }
