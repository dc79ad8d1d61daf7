package main

import (
	"errors"
	"flag"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"github.com/kcp4j/kcp4j/interop/cli"
)

func compareLanes(flags *flag.FlagSet, args []string) error {
	c := latencyComparison{
		lossList: "0.5,1,5", config: link.Config{Delay: shortDelay}, time: 2 * time.Minute}
	var traffic gameTraffic
	c.flags(flags)
	c.rateFlags(flags)
	traffic.flags(flags)
	flags.Lookup("entities").DefValue, traffic.entities = "50", 50
	err := errors.Join(cli.Parse(flags, args), c.check(flags), checkEntities(&traffic))
	if err != nil {
		return err
	}
	c.choose(lanesVariants(newPrograms(c.jvms, c.classPath, c.mtu), &traffic))
	report := c.newReport(loadClass)
	report.Traffic, report.payload = lanesTraffic(&traffic), traffic.bytesPerSecond()
	report.columns = report.lanesColumns
	err = c.runUntilInterrupted(report)
	return errors.Join(err, report.publish(c.csvFile, c.jsonFile, ""))
}
