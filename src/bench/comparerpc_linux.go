package main

import (
	"errors"
	"flag"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"github.com/kcp4j/kcp4j/interop/cli"
)

func compareRPC(flags *flag.FlagSet, args []string) error {
	c := latencyComparison{
		lossList: "0,1,5", config: link.Config{Delay: shortDelay}, time: time.Minute}
	var traffic rpcTraffic
	c.flags(flags)
	c.rateFlags(flags)
	traffic.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), c.check(flags), traffic.check()); err != nil {
		return err
	}
	c.choose(rpcVariants(c.jvms, c.classPath, c.mtu, &traffic))
	report := c.newReport(rpcClass)
	report.Traffic, report.columns = traffic.String(), rpcColumns
	err := c.runUntilInterrupted(report)
	return errors.Join(err, report.publish(c.csvFile, c.jsonFile, ""))
}
