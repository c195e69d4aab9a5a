package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report/triage"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

func triageVerb() *verb {
	var o reportOutput
	var key string
	var limit int64
	var top int
	var prompts bool
	v := &verb{
		name:    "triage",
		args:    "VERDICT [RECORDING...]",
		summary: "rank the likely causes of what failed or is weak, with a prompt for a coding agent for each",
		long: "A VERDICT is what grade --format json wrote; - is stdin. The rules are fixed; docs/triage.md has the causes. With the RECORDINGs, files or folders of them, " +
			"it looks at descriptions, schemas, arguments and results too, and says what it did not look at without them. Exit code: that of the verdict.",
		examples: [2]string{
			"sixlink triage verdict.json recordings/",
			"sixlink triage --copy --top 1 verdict.json recordings/",
		},
		flags: func(fs *pflag.FlagSet) {
			o.add(fs, []string{"text", "json", "markdown"})
			fs.IntVar(&top, "top", triage.DefaultTop, "give at most `N` causes for each spot")
			fs.BoolVar(&prompts, "copy", false, "print the prompts alone, each once")
			sessionKeyFlag(fs, &key)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case o.format != "text" && o.format != "json" && o.format != "markdown":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json, markdown", o.format))
		case prompts && o.format != "text":
			return usageError(s, v.name, fmt.Errorf("--copy prints text, and not %s", o.format))
		case top < 1:
			return usageError(s, v.name, errors.New("--top: expected at least 1"))
		case len(args) == 0:
			return usageError(s, v.name, errors.New("needs a VERDICT"))
		}
		if err := session.CheckSessionKey(key); err != nil {
			return usageError(s, v.name, fmt.Errorf("--session-key: %w", err))
		}
		verdict, done, err := readVerdict(s, args[0])
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		defer done()
		opts := triage.Options{Top: top}
		if len(args) > 1 {
			paths, err := recordings(args[1:])
			if err != nil {
				return fail(s, v.name, err, exitUsage)
			}
			src := sourceOf(s, v.name, verdict, paths, record.Options{MaxDecompressed: limit}, key)
			verdict.Locate(src.paths)
			opts.Source = src
		}
		r, err := triage.Of(verdict, opts)
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		err = o.deliver(s, func(w io.Writer) error {
			switch {
			case prompts:
				return triage.Copy(w, r)
			case o.format == "json":
				if err := triage.JSON(w, r); err != nil {
					return err
				}
				_, err := io.WriteString(w, "\n")
				return err
			case o.format == "markdown":
				return triage.Markdown(w, r)
			}
			return triage.Text(w, r, o.options(s).Color)
		}, nil)
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return (&grade.Verdict{Word: verdict.Word}).ExitCode()
	}
	return v
}
