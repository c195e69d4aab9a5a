// Command sixlink records what passes between an MCP host and a server, shows
// it, and grades it offline.
//
// This package holds one file a verb: flags in, one call into a package below,
// an exit code out. It must not know the format, sessions or checks themselves.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"
)

// Exit codes (docs/exit-codes.md). record ends as the server ended instead.
const (
	exitGood    = 0 // all is well
	exitFinding = 1 // a failed verdict
	exitUsage   = 2 // usage, or a suite that cannot be read
	exitUnknown = 3 // could not evaluate: nothing measured, or a recording that cannot be read
)

// version is set by the release build (-ldflags -X main.version=…).
var version = ""

func versionString() string {
	if version != "" {
		return version
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return strings.TrimPrefix(bi.Main.Version, "v")
	}
	return "0.1.0-dev"
}

// stdio is what a verb may talk to: out is the result, err is talk.
type stdio struct {
	in       *os.File
	out, err io.Writer
}

// verb is one command of the program.
type verb struct {
	name     string
	args     string // after the flags, in the usage line
	summary  string // one line
	long     string
	examples [2]string
	flags    func(*pflag.FlagSet)
	run      func(s stdio, args []string) int
	// child says that everything from the first word that is no flag belongs to
	// somebody else's command line.
	child bool
	set   *pflag.FlagSet // as it was parsed
}

func verbs() []*verb {
	return []*verb{recordVerb(), showVerb(), catVerb(), gradeVerb(), checksVerb(), repairVerb(), versionVerb()}
}

func main() { os.Exit(Main()) }

// Main is the whole program; it returns its exit code.
func Main() int {
	return run(stdio{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
}

func run(s stdio, args []string) int {
	all := verbs()
	if len(args) == 0 {
		usage(s.err, all)
		return exitUsage
	}
	name := args[0]
	switch name {
	case "help", "--help", "-h":
		if len(args) > 1 && name == "help" {
			if v := find(all, args[1]); v != nil {
				v.help(s.out, v.flagSet())
				return exitGood
			}
			return unknown(s, all, args[1])
		}
		usage(s.out, all)
		return exitGood
	case "--version":
		name = "version"
	}
	v := find(all, name)
	if v == nil {
		return unknown(s, all, name)
	}
	fs := v.flagSet()
	v.set = fs
	err := fs.Parse(args[1:])
	switch {
	case err == pflag.ErrHelp:
		v.help(s.out, fs)
		return exitGood
	case err != nil:
		return usageError(s, v.name, err)
	}
	return v.run(s, fs.Args())
}

func (v *verb) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetInterspersed(!v.child)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	if v.flags != nil {
		v.flags(fs)
	}
	return fs
}

func find(all []*verb, name string) *verb {
	for _, v := range all {
		if v.name == name {
			return v
		}
	}
	return nil
}

func unknown(s stdio, all []*verb, name string) int {
	var names []string
	for _, v := range all {
		names = append(names, v.name)
	}
	fmt.Fprintf(s.err, "sixlink: no verb %q; there are %s\nhint: sixlink record -- COMMAND records a server\n", name, strings.Join(names, ", "))
	return exitUsage
}

// usageError tells what is wrong with a command line, and where help is.
func usageError(s stdio, name string, err error) int {
	fmt.Fprintf(s.err, "sixlink %s: %v\nhint: sixlink %s --help\n", name, err, name)
	return exitUsage
}

// fail tells why a verb could not do its work.
func fail(s stdio, name string, err error, code int) int {
	fmt.Fprintf(s.err, "sixlink %s: %v\n", name, err)
	return code
}

func usage(w io.Writer, all []*verb) {
	fmt.Fprint(w, "sixlink records what passes between an MCP host and a server, and says where a session stopped being good.\n\nUsage: sixlink VERB [FLAG...] [ARG...]\n\n")
	for _, v := range all {
		fmt.Fprintf(w, "  %-8s %s\n", v.name, v.summary)
	}
	fmt.Fprint(w, "\nsixlink VERB --help tells more. Exit codes: 0 good, 1 a finding, 2 usage or an unreadable suite, 3 could not\nevaluate; record ends as the server ended.\n")
}

func (v *verb) help(w io.Writer, fs *pflag.FlagSet) {
	fmt.Fprintf(w, "%s\n\nUsage: sixlink %s", v.summary, v.name)
	if fs.HasFlags() {
		fmt.Fprint(w, " [FLAG...]")
	}
	if v.args != "" {
		fmt.Fprint(w, " ", v.args)
	}
	fmt.Fprintln(w)
	if v.long != "" {
		fmt.Fprintf(w, "\n%s\n", v.long)
	}
	if fs.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", fs.FlagUsagesWrapped(100))
	}
	fmt.Fprintf(w, "\nExamples:\n  %s\n  %s\n", v.examples[0], v.examples[1])
}
