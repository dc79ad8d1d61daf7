package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// median is NaN without samples.
func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	if len(sorted) == 0 {
		return math.NaN()
	}
	middle := len(sorted) / 2
	return (sorted[middle] + sorted[(len(sorted)-1)/2]) / 2
}

// A jvm is a column or a row of a comparison.
type jvm struct {
	name    string
	command []string
}

type jvms []jvm

func (all *jvms) flag(flags *flag.FlagSet) {
	usage := "`NAME=COMMAND` of a JVM, with its options; repeatable; default: kcp4j=java"
	flags.Func("java", usage, func(s string) error {
		name, command, ok := strings.Cut(s, "=")
		if !ok || len(strings.Fields(command)) == 0 {
			return fmt.Errorf("expected NAME=COMMAND")
		}
		*all = append(*all, jvm{name, strings.Fields(command)})
		return nil
	})
}

func (all jvms) orDefault() jvms {
	if len(all) == 0 {
		return jvms{{"kcp4j", []string{"java"}}}
	}
	return all
}

func writeJSON(file string, figures any) error {
	content, err := json.MarshalIndent(figures, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

// parseLosses parses percentages, with commas between them.
func parseLosses(list string) ([]float64, error) {
	var losses []float64
	for _, s := range strings.Split(list, ",") {
		percent, err := strconv.ParseFloat(s, 64)
		if err != nil || percent < 0 || percent >= 100 {
			return nil, cli.UsageErrorf("--loss %q: expected numbers from 0 to less than 100", list)
		}
		losses = append(losses, percent)
	}
	return losses, nil
}
