package main

import (
	"errors"
	"flag"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"github.com/kcp4j/kcp4j/interop/cli"
)

func compareLatency(flags *flag.FlagSet, args []string) error {
	c := latencyComparison{
		lossList: "0.5,5", config: link.Config{Delay: shortDelay}, time: 5 * time.Minute}
	var traffic gameTraffic
	c.flags(flags)
	c.rateFlags(flags)
	traffic.flags(flags)
	plots := flags.String("plots", "", "write SVG plots to files whose names begin with this `prefix`")
	if err := errors.Join(cli.Parse(flags, args), c.check(flags), traffic.check()); err != nil {
		return err
	}
	c.choose(latencyVariants(newPrograms(c.jvms, c.classPath, c.mtu), &traffic))
	report := c.newReport(loadClass)
	report.Traffic, report.payload = traffic.String(), traffic.bytesPerSecond()
	report.columns = report.gameColumns
	err := c.runUntilInterrupted(report)
	return errors.Join(err, report.publish(c.csvFile, c.jsonFile, *plots))
}
