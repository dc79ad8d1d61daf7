package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	model := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s %s",
		model, runtime.NumCPU(), runtime.GOOS, bytes.TrimSpace(kernel))
}

// modules are those whose versions reports have, by name.
var modules = map[string]string{
	"kcp-go": "github.com/xtaci/kcp-go/v5",
	"smux":   "github.com/xtaci/smux",
	"snappy": "github.com/golang/snappy",
}

// goVersions has the version of Go, and of the modules with these names.
func goVersions(names ...string) map[string]string {
	all := map[string]string{"go": runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			for _, name := range names {
				if module.Path == modules[name] {
					all[name] = module.Version
				}
			}
		}
	}
	return all
}

// addTo adds the first line that each JVM prints with the arguments.
func (all jvms) addTo(versions map[string]string, args ...string) {
	for _, jvm := range all {
		output, err := exec.Command(
			jvm.command[0], slices.Concat(jvm.command[1:], args)...).Output()
		version, _, _ := strings.Cut(string(output), "\n")
		if err != nil {
			version = err.Error()
		}
		versions[jvm.name] = version
	}
}

// versions also has what the class of each JVM prints.
func versions(jvms jvms, classPath, class string) map[string]string {
	all := goVersions("kcp-go")
	jvms.addTo(all, "-cp", classPath, class, "--version")
	return all
}

// printMachine prints what was measured, and on which machine.
func printMachine(machine, source string, versions map[string]string) {
	fmt.Printf("%s; %s.\n", machine, source)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		fmt.Printf("%s: %s. ", name, versions[name])
	}
	fmt.Println()
}
