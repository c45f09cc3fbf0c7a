// Reads metrics from standard input and prints what `promtool check metrics` would: both use client_golang's promlint.
// With the argument "profile": reads a profile as `go tool pprof` does, and prints how many samples it has.
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "profile" {
		p, err := profile.Parse(os.Stdin)
		if err == nil {
			err = p.CheckValid()
		}
		if err != nil {
			fmt.Println("cannot be parsed:", err)
			os.Exit(1)
		}
		fmt.Println(p.SampleType[len(p.SampleType)-1].Type, len(p.Sample), "samples", len(p.Mapping), "mappings")
		return
	}
	problems, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		fmt.Println("cannot be parsed:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Println(p.Metric, p.Text)
	}
	if len(problems) > 0 {
		os.Exit(3)
	}
}
