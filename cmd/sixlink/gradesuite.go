package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
)

// overrideFlags are what one run sets over the suite (grading.md 6.4).
func overrideFlags(fs *pflag.FlagSet, o *grade.Overrides) {
	add := func(flag, name, placeholder, usage string) {
		fs.Var(&overrideFlag{o: o, name: name, placeholder: placeholder}, flag, usage)
	}
	add("argument-matching", grade.OverrideArguments, "MODE", "for this run: partial, exact or ignore")
	add("tool-call-order", grade.OverrideOrder, "ORDER", "for this run: ignore, strict or superset")
	add("max-extra-tool-calls", grade.OverrideMaxExtra, "N", "for this run: the most calls beyond the expected ones, or any")
	add("pass-threshold", grade.OverridePassThreshold, "FRACTION", "for this run: the share of a case's trials that must pass, as 0.8")
	fs.StringArrayVar(&o.Only, "only", nil, "grade this `CASE` alone (repeatable)")
}

// overrideFlag is a flag that sets one override of the suite, once.
type overrideFlag struct {
	o                       *grade.Overrides
	name, placeholder, text string
}

func (f *overrideFlag) String() string { return f.text }
func (f *overrideFlag) Type() string   { return f.placeholder }
func (f *overrideFlag) Set(text string) error {
	f.text = text
	return f.o.Set(f.name, text)
}

func loadSuite(path string) (*grade.Suite, error) {
	if path == "" {
		return grade.BuiltIn(), nil
	}
	data, err := readSuite(path)
	if err != nil {
		return nil, err
	}
	return grade.LoadSuite(path, data, func(name string) ([]byte, error) {
		// A suite from a stranger may name a pipe or a device.
		if fi, err := os.Stat(name); err == nil && !fi.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file", name)
		}
		return readSuite(name)
	})
}

// readSuite reads one byte over the loader's limit at most: enough for it to say so.
func readSuite(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, (1<<20)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
