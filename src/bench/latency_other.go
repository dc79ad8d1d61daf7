//go:build !linux

package main

import (
	"errors"
	"flag"
	"time"
)

func compareLatency(*flag.FlagSet, []string) error {
	return errors.New("the emulated links need Linux")
}

func lockPreciseThread() {}

func sleepUntil(instant time.Time) { time.Sleep(time.Until(instant)) }
