package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
)

// A comparison pairs a codecBenchmark with the JMH benchmark of kcp4j that does the same.
type comparison struct {
	name   string
	kcpGo  string // name of the codecBenchmark
	kcp4j  string // class and method
	param  string // of the latter, or empty
	option string // the param's value
}

func comparisons() []comparison {
	var all []comparison
	addCipher := func(kcpGo, how, method, cipher string) {
		all = append(all, comparison{
			cipher + how, kcpGo + "/" + cipher, "PacketCipherBenchmark." + method, "cipher", cipher})
	}
	for _, c := range kcpgo.Ciphers {
		if c.Name == "null" {
			continue
		}
		addCipher("seal+open", ", sealed and opened", "sealAndOpen1500", c.Name)
		if !isAEAD(c) && c.Name != "none" {
			all = append(all, comparison{
				c.Name + ", cipher alone", "crypt/" + c.Name,
				"StreamCipherBenchmark.encryptAndDecrypt1500", "streamCipher", c.Name})
		}
	}
	for _, c := range []string{"aes", "aes-128-gcm", "chacha20-poly1305", "salsa20"} {
		addCipher("seal+open", ", sealed and opened, bursts of 32", "sealAndOpen1500In32", c)
		addCipher("seal", ", sealed", "seal1400", c)
		addCipher("seal", ", sealed, bursts of 8", "seal1400In8", c)
		addCipher("seal", ", sealed, bursts of 32", "seal1400In32", c)
	}
	for _, code := range []string{"10+3", "20+10"} {
		addCode := func(kcpGo, how, method string) {
			all = append(all, comparison{
				"RS " + code + how, kcpGo + "/" + code, "ReedSolomonBenchmark." + method, "code", code})
		}
		addCode("rs-encode", ", parity", "encode")
		addCode("rs-decode-one", ", one lost", "reconstruct1")
		addCode("rs-decode", ", as many lost as it can recover", "reconstructAll")
	}
	return append(all,
		comparison{"FEC 10/3, sent", "fec-encode/10+3", "FecBenchmark.encode", "", ""},
		comparison{"FEC 10/3, received", "fec-decode/10+3", "FecBenchmark.decodeWithoutLoss", "", ""},
		comparison{"FEC 10/3, one of ten lost",
			"fec-recover/10+3", "FecBenchmark.decodeOneLostPerGroup", "", ""},
		comparison{"a nonce", "nonce", "NonceBenchmark.nonce16", "", ""},
		comparison{"CRC-32 of 1 KiB", "crc32", "PacketCipherBenchmark.crc1024", "", ""})
}

// samples are nanoseconds, by the names of comparisons.
type samples map[string][]float64

// A runner measures one side of comparisons with the same benchmark and param, in samples of the
// given time.
type runner func(alike []comparison, duration time.Duration) (samples, error)

// A column holds the least sample of each round of a runner.
type column struct {
	name  string
	run   runner
	least samples
}

func newColumn(name string, run runner) *column {
	return &column{name, run, samples{}}
}

func compareCodecs(flags *flag.FlagSet, args []string) error {
	classPath := flags.String("classpath", "kcp-jmh/target/benchmarks.jar",
		"class path of the JMH benchmarks of kcp4j")
	rounds := flags.Int("rounds", 2, "how often to run each side, in turn")
	duration := flags.Duration("time", 100*time.Millisecond, "`time` of each sample of a round")
	match := flags.String("match", "",
		"only comparisons whose name this regular `expression` matches")
	jsonFile := flags.String("json", "", "also write the figures to this `file`")
	columns := []*column{newColumn("kcp-go", runGo)}
	var jvms jvms
	jvms.flag(flags)
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return cli.UsageErrorf("--match: %v", err)
	}
	for _, jvm := range jvms.orDefault() {
		columns = append(columns, newColumn(jvm.name, jmhRunner(jvm.command, classPath)))
	}
	all := slices.DeleteFunc(comparisons(),
		func(c comparison) bool { return !pattern.MatchString(c.name) })
	alike := groups(all)
	for round := range *rounds {
		for i, group := range alike {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %d of %d benchmarks",
				round+1, *rounds, i+1, len(alike))
			for _, c := range columns {
				measured, err := c.run(group, *duration)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				for name, nanoseconds := range measured {
					c.least[name] = append(c.least[name], slices.Min(nanoseconds))
				}
			}
		}
	}
	fmt.Fprintln(os.Stderr)
	printTable(all, columns)
	if *jsonFile != "" {
		return writeFigures(*jsonFile, all, columns)
	}
	return nil
}

// groups puts comparisons with the same benchmark of kcp4j together. All sides of a group are
// measured shortly after each other, because the speed of a shared machine varies.
func groups(all []comparison) [][]comparison {
	var alike [][]comparison
	for _, c := range all {
		i := slices.IndexFunc(alike, func(group []comparison) bool {
			return group[0].kcp4j == c.kcp4j && group[0].option == c.option
		})
		if i < 0 {
			alike = append(alike, []comparison{c})
		} else {
			alike[i] = append(alike[i], c)
		}
	}
	return alike
}

// samplesPerRound is the number of samples of each benchmark in a round. The least of them counts:
// other load of the machine can only increase a sample.
const samplesPerRound = 20

// runGo measures kcp-go in a process of its own, on one core.
func runGo(all []comparison, duration time.Duration) (samples, error) {
	var names []string
	for _, c := range all {
		names = append(names, regexp.QuoteMeta(c.kcpGo))
	}
	cmd := self([]string{"codecs", "--match", "^(" + strings.Join(names, "|") + ")$",
		"--time", duration.String(), "--count", fmt.Sprint(samplesPerRound)})
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	output, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	measured := samples{}
	for line := range bytes.Lines(output) {
		var speed codecSpeed
		if err := json.Unmarshal(line, &speed); err != nil {
			return nil, err
		}
		for _, c := range all {
			if c.kcpGo == speed.Name {
				measured[c.name] = append(measured[c.name], speed.Nanoseconds)
			}
		}
	}
	return measured, nil
}

// A jmhResult is one entry of the JSON that JMH writes with "-rf json".
type jmhResult struct {
	Benchmark string            `json:"benchmark"`
	Params    map[string]string `json:"params"`
	Metric    struct {
		RawData [][]float64 `json:"rawData"`
	} `json:"primaryMetric"`
}

func (r *jmhResult) isOf(c comparison) bool {
	return strings.HasSuffix(r.Benchmark, "."+c.kcp4j) && r.Params[c.param] == c.option
}

func jmhRunner(java []string, classPath *string) runner {
	return func(alike []comparison, duration time.Duration) (samples, error) {
		results, err := runJMH(java, *classPath, alike[0], duration)
		if err != nil {
			return nil, err
		}
		measured := samples{}
		for _, result := range results {
			for _, c := range alike {
				if result.isOf(c) {
					measured[c.name] = slices.Concat(result.Metric.RawData...)
				}
			}
		}
		return measured, nil
	}
}

// runJMH runs one fork: each round is another one. The warm-up is longer than all samples together,
// because on one core the compiler competes with the benchmark: AES-GCM needs 3 s.
func runJMH(
	java []string, classPath string, benchmark comparison, duration time.Duration,
) ([]jmhResult, error) {
	directory, err := os.MkdirTemp("", "codecs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	file := filepath.Join(directory, "jmh.json")
	sample := fmt.Sprintf("%dms", duration.Milliseconds())
	args := slices.Concat(java[1:], []string{"-cp", classPath, "org.openjdk.jmh.Main",
		regexp.QuoteMeta("."+benchmark.kcp4j) + "$",
		"-f", "1", "-wi", "4", "-w", "1", "-i", fmt.Sprint(samplesPerRound), "-r", sample,
		"-bm", "avgt", "-tu", "ns", "-foe", "true", "-rf", "json", "-rff", file})
	if benchmark.param != "" {
		args = append(args, "-p", benchmark.param+"="+benchmark.option)
	}
	cmd := exec.Command(java[0], args...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var results []jmhResult
	return results, json.Unmarshal(content, &results)
}

// printTable prints Markdown: the least of all rounds in nanoseconds, how far the greatest exceeds
// it, and the speed relative to kcp-go's.
func printTable(all []comparison, columns []*column) {
	header, rule := "| nanoseconds |", "|---|"
	for i, c := range columns {
		header += " " + c.name + " |"
		rule += "---|"
		if i > 0 {
			header += " times kcp-go |"
			rule += "---|"
		}
	}
	fmt.Println(header)
	fmt.Println(rule)
	for _, compared := range all {
		name := compared.name
		row := "| " + name + " |"
		for i, c := range columns {
			if len(c.least[name]) == 0 {
				row += " - | - |"
				continue
			}
			row += fmt.Sprintf(" %s + %.0f %% |",
				digits(slices.Min(c.least[name])), 100*excess(c.least[name]))
			if i > 0 {
				row += fmt.Sprintf(" %.2f |", slices.Min(columns[0].least[name])/slices.Min(c.least[name]))
			}
		}
		fmt.Println(row)
	}
}

func digits(nanoseconds float64) string {
	if nanoseconds < 100 {
		return fmt.Sprintf("%.1f", nanoseconds)
	}
	return fmt.Sprintf("%.0f", nanoseconds)
}

// excess is the difference of the greatest and the least sample, relative to the least.
func excess(samples []float64) float64 {
	return slices.Max(samples)/slices.Min(samples) - 1
}

type figure struct {
	Name   string    `json:"name"`
	Side   string    `json:"side"`
	Least  float64   `json:"least_ns"`
	Excess float64   `json:"excess"`
	Ratio  float64   `json:"times_kcp_go"`
	Rounds []float64 `json:"rounds_ns"`
}

func writeFigures(file string, all []comparison, columns []*column) error {
	var figures []figure
	for _, compared := range all {
		name := compared.name
		for _, c := range columns {
			if len(c.least[name]) == 0 {
				continue
			}
			figures = append(figures, figure{
				Name: name, Side: c.name, Least: slices.Min(c.least[name]), Excess: excess(c.least[name]),
				Ratio: slices.Min(columns[0].least[name]) / slices.Min(c.least[name]), Rounds: c.least[name],
			})
		}
	}
	return writeJSON(file, figures)
}
