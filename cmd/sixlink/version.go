package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/record"
)

func versionVerb() *verb {
	return &verb{
		name:     "version",
		summary:  "print the versions of the program, the recording format and the analyzer",
		examples: [2]string{"sixlink version", "sixlink version | head -1"},
		run: func(s stdio, args []string) int {
			if len(args) > 0 {
				return usageError(s, "version", errors.New("takes no arguments"))
			}
			fmt.Fprintf(s.out, "sixlink %s\nrecording format %d.%d\nanalyzer %d\n%s %s/%s\n", versionString(),
				record.FormatMajor, record.FormatMinor, chain.AnalyzerVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitGood
		},
	}
}
