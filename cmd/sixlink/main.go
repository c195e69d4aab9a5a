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
	"unicode/utf8"

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
	// subs are the verbs below this one, their names with this one's before; a verb
	// that has some does nothing by itself.
	subs []*verb
	set  *pflag.FlagSet // as it was parsed
}

func verbs() []*verb {
	return []*verb{
		recordVerb(),
		showVerb(),
		catVerb(),
		gradeVerb(),
		reportVerb(),
		compareVerb(),
		historyVerb(),
		triageVerb(),
		replayVerb(),
		diffVerb(),
		verifyVerb(),
		checksVerb(),
		suiteVerb(),
		auditVerb(),
		catalogVerb(),
		repairVerb(),
		pruneVerb(),
		importVerb(),
		attachVerb(),
		versionVerb(),
	}
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
			v, _, code := choose(s, all, args[1:])
			if v != nil {
				v.help(s.out)
			}
			return code
		}
		usage(s.out, all)
		return exitGood
	case "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	v, args, code := choose(s, all, args)
	if v == nil {
		return code
	}
	if v.subs != nil {
		if len(args) > 0 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
			v.help(s.out)
			return exitGood
		}
		fmt.Fprintf(s.err, "sixlink %s: needs one of %s\nhint: sixlink %[1]s --help\n", v.name, strings.Join(names(v.subs), ", "))
		return exitUsage
	}
	fs := v.flagSet()
	v.set = fs
	err := fs.Parse(args)
	switch {
	case err == pflag.ErrHelp:
		v.help(s.out)
		return exitGood
	case err != nil:
		return usageError(s, v.name, err)
	}
	if err := settle(v.name, fs, os.Environ()); err != nil {
		return usageError(s, v.name, err)
	}
	return v.run(s, fs.Args())
}

// choose finds the verb that words begin with, and returns the words after it. It
// is nil, with the exit code, when there is none.
func choose(s stdio, all []*verb, words []string) (*verb, []string, int) {
	v := find(all, words[0])
	if v == nil {
		return nil, nil, unknown(s, all, words[0])
	}
	for words = words[1:]; v.subs != nil && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "help"; words = words[1:] {
		sub := find(v.subs, v.name+" "+words[0])
		if sub == nil {
			fmt.Fprintf(s.err, "sixlink %s: no verb %q; it has %s\nhint: sixlink %[1]s --help\n", v.name, words[0], strings.Join(names(v.subs), ", "))
			return nil, nil, exitUsage
		}
		v = sub
	}
	return v, words, exitGood
}

// names are the verbs' own names, those of a verb below another without it.
func names(all []*verb) []string {
	var out []string
	for _, v := range all {
		out = append(out, v.name[strings.LastIndex(v.name, " ")+1:])
	}
	return out
}

func (v *verb) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetInterspersed(!v.child)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	if v.flags != nil {
		v.flags(fs)
		configFlag(fs)
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
	fmt.Fprintf(s.err, "sixlink: no verb %q; there are %s\nhint: sixlink record -- COMMAND records a server\n", name, strings.Join(names(all), ", "))
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
	fmt.Fprintf(w, "%s\n\nUsage: sixlink VERB [FLAG...] [ARG...]\n\n", fold("sixlink records what passes between an MCP host and a server, and says where a session stopped being good.", ""))
	for _, v := range all {
		summaryOf(w, v.name, v.summary)
	}
	fmt.Fprintf(w, "\n%s\n", fold("sixlink VERB --help tells more. Exit codes: 0 good, 1 a finding, 2 usage or an unreadable suite, 3 could not evaluate; record ends as the server ended.", ""))
}

func (v *verb) help(w io.Writer) {
	fs := v.set // with what was set, as pflag shows it
	if fs == nil {
		fs = v.flagSet()
	}
	fmt.Fprintf(w, "%s\n\n", fold(v.summary, ""))
	line := "Usage: sixlink " + v.name
	if v.subs != nil {
		fmt.Fprint(w, line, " VERB [FLAG...] [ARG...]\n\n")
		for _, sub := range v.subs {
			summaryOf(w, strings.TrimPrefix(sub.name, v.name+" "), sub.summary)
		}
		fmt.Fprintf(w, "\nsixlink %s VERB --help tells more.\n", v.name)
		return
	}
	if fs.HasFlags() {
		line += " [FLAG...]"
	}
	if v.args != "" {
		line += " " + v.args
	}
	fmt.Fprintln(w, strings.TrimLeft(fold(line, "       "), " "))
	if v.long != "" {
		fmt.Fprintf(w, "\n%s\n", fold(v.long, ""))
	}
	if fs.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", fs.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(w, "\nExamples:\n  %s\n  %s\n", v.examples[0], v.examples[1])
}

// helpWidth is how wide a help text is, examples aside: those are to be copied.
const helpWidth = 80

func summaryOf(w io.Writer, name, summary string) {
	fmt.Fprintf(w, "  %-8s %s\n", name, strings.TrimLeft(fold(summary, strings.Repeat(" ", 11)), " "))
}

// fold breaks each paragraph of a text at blanks, so that no line is over helpWidth
// characters. Lines that begin with a blank stay as they are.
func fold(text, indent string) string {
	var out []string
	line := indent
	end := func() {
		if line != indent {
			out = append(out, line)
		}
		line = indent
	}
	for _, l := range strings.Split(text, "\n") {
		if l == "" || l[0] == ' ' {
			end()
			out = append(out, l)
			continue
		}
		for _, word := range strings.Fields(l) {
			if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > helpWidth {
				end()
			}
			if line != indent {
				line += " "
			}
			line += word
		}
	}
	end()
	return strings.Join(out, "\n")
}
