package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/visible"
)

func pruneVerb() *verb {
	var total, age, format string
	var where []string
	var dry bool
	v := &verb{
		name:    "prune",
		args:    "DIR",
		summary: "remove old recordings from a folder, by size, age or label",
		long: "The oldest closed files go first, the first segment of a recording after its others. What a recorder still\n" +
			"writes stays, and so does what is no recording. With --where only whole recordings go that have all of it; without\n" +
			"--max-total and --max-age all of those. Folders below DIR are left alone.\n" +
			"K of --where is id, transport, level, command (a part of it), upstream (a part of it) or label.NAME.",
		examples: [2]string{
			"sixlink prune /var/lib/sixlink --max-total 20GiB --max-age 30d",
			"sixlink prune /var/lib/sixlink --where label.tenant=acme --dry-run",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&total, "max-total", "", "leave at most this `SIZE`")
			fs.StringVar(&age, "max-age", "", "leave what was written less than this `TIME` ago, as in 36h or 30d")
			fs.StringArrayVar(&where, "where", nil, "only recordings with `K=V`, as in label.server=files (may be repeated: all of it)")
			fs.BoolVar(&dry, "dry-run", false, "remove nothing, only say what would go")
			fs.StringVar(&format, "format", "text", "text or json")
		},
	}
	v.run = func(s stdio, args []string) int {
		p := record.Prune{Now: time.Now(), DryRun: dry}
		var err error
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one DIR"))
		case total == "" && age == "" && len(where) == 0:
			return usageError(s, v.name, errors.New("needs --max-total, --max-age or --where: it never removes all that is there"))
		case format != "text" && format != "json":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		}
		if total != "" {
			if p.MaxTotal, err = byteSize("--max-total", total, 1); err != nil {
				return usageError(s, v.name, err)
			}
		}
		if age != "" {
			if p.MaxAge, err = span("--max-age", age, time.Second); err != nil {
				return usageError(s, v.name, err)
			}
		}
		if len(where) > 0 {
			if p.Where, err = whereOf(where); err != nil {
				return usageError(s, v.name, err)
			}
		}
		done, err := p.Prune(args[0])
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		code := exitGood
		for _, k := range done.Kept {
			if !k.Live {
				code = exitUnknown
			}
			fmt.Fprintf(s.err, "sixlink prune: %s %s: it stays\n", visible.String(k.Name), visible.String(k.Why))
		}
		if done.Over > 0 {
			fmt.Fprintf(s.err, "sixlink prune: %d bytes are over --max-total still\n", done.Over)
			code = exitUnknown
		}
		if format == "json" {
			err = pruneJSON(s, done, dry)
		} else {
			err = pruneText(s, done, dry)
		}
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return code
	}
	return v
}

// whereOf makes the condition of --where flags.
func whereOf(flags []string) (func(*record.Header) (bool, error), error) {
	var all []func(*record.Header) bool
	for _, f := range flags {
		k, want, ok := strings.Cut(f, "=")
		label, isLabel := strings.CutPrefix(k, "label.")
		var is func(h *record.Header) bool
		switch {
		case !ok || isLabel && label == "":
			return nil, fmt.Errorf("--where %q is not of the form K=V", f)
		case isLabel:
			is = func(h *record.Header) bool { v, has := h.Labels[label]; return has && v == want }
		case k == "id":
			is = func(h *record.Header) bool { return h.ID == want }
		case k == "transport":
			is = func(h *record.Header) bool { return h.Transport == want }
		case k == "level":
			is = func(h *record.Header) bool { return string(h.Level) == want }
		case k == "command" && want != "":
			is = func(h *record.Header) bool { return strings.Contains(strings.Join(h.Command, " "), want) }
		case k == "upstream" && want != "":
			is = func(h *record.Header) bool { return strings.Contains(h.Upstream, want) }
		default:
			return nil, fmt.Errorf("--where %q: K is none of id, transport, level, command, upstream, label.NAME, or V is missing", f)
		}
		all = append(all, is)
	}
	return func(h *record.Header) (bool, error) {
		return !slices.ContainsFunc(all, func(is func(*record.Header) bool) bool { return !is(h) }), nil
	}, nil
}

var pruneWhy = map[string]string{record.LimitAge: "--max-age", record.LimitTotal: "--max-total", "": "--where"}

func pruneText(s stdio, done *record.Pruned, dry bool) error {
	var b strings.Builder
	bytes := int64(0)
	for _, f := range done.Files {
		bytes += f.Bytes
		fmt.Fprintf(&b, "%s  %d bytes, written %s (%s)\n", visible.String(f.Name), f.Bytes, f.Written.UTC().Format(time.RFC3339), pruneWhy[f.Why])
	}
	verb := "removed"
	if dry {
		verb = "would be removed"
	}
	fmt.Fprintf(&b, "%d files with %d bytes %s, %d files with %d bytes stay\n", len(done.Files), bytes, verb, done.Left, done.LeftBytes)
	_, err := s.out.Write([]byte(b.String()))
	return err
}

func pruneJSON(s stdio, done *record.Pruned, dry bool) error {
	type file struct {
		Name      string      `json:"name"`
		Bytes     int64       `json:"bytes"`
		Written   record.Time `json:"written"`
		Why       string      `json:"why"`
		Recording string      `json:"recording,omitzero"`
		Segment   int         `json:"segment"`
	}
	type kept struct {
		Name string `json:"name"`
		Why  string `json:"why"`
		Live bool   `json:"live"`
	}
	out := struct {
		Schema    string `json:"schema"`
		DryRun    bool   `json:"dryRun"`
		Removed   []file `json:"removed"`
		Left      int    `json:"left"`
		LeftBytes int64  `json:"leftBytes"`
		Over      int64  `json:"over"`
		Kept      []kept `json:"kept"`
	}{"sixlink/prune/1", dry, []file{}, done.Left, done.LeftBytes, done.Over, []kept{}}
	for _, f := range done.Files {
		out.Removed = append(out.Removed, file{f.Name, f.Bytes, record.Time{Time: f.Written.UTC()}, strings.TrimPrefix(pruneWhy[f.Why], "--"), f.Recording, f.Segment})
	}
	for _, k := range done.Kept {
		out.Kept = append(out.Kept, kept{k.Name, k.Why, k.Live})
	}
	b, err := json.Marshal(out, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		_, err = s.out.Write(append(b, '\n'))
	}
	return err
}
