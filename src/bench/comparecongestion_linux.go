package main

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"github.com/kcp4j/kcp4j/interop/cli"
)

func compareCongestion(flags *flag.FlagSet, args []string) error {
	c := latencyComparison{
		lossList: "0", config: link.Config{Delay: 20 * time.Millisecond}, time: 30 * time.Second}
	var traffic gameTraffic
	c.flags(flags)
	traffic.flags(flags)
	megabits := flags.String("megabits", "20,100", "`rates` of the link each way, in Mbit/s")
	bdps := flags.String("bdps", "1,10",
		"`sizes` of the queue, in products of the rate and twice the delay")
	if err := errors.Join(cli.Parse(flags, args), c.check(flags), traffic.check()); err != nil {
		return err
	}
	bottlenecks, err := newBottlenecks(*megabits, *bdps)
	if err != nil {
		return err
	}
	c.choose(congestionVariants(newPrograms(c.jvms, c.classPath, c.mtu), &traffic, bottlenecks))
	report := c.newReport(loadClass)
	report.Versions["TCP"] = tcpCongestionControl
	report.Traffic = fmt.Sprintf("bulk data one way; round trip %v and up to %v of jitter; game: %s",
		2*c.config.Delay, 2*c.config.Jitter, &traffic)
	report.columns = congestionColumns
	err = c.runUntilInterrupted(report)
	return errors.Join(err, report.publish(c.csvFile, c.jsonFile, ""))
}
