package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog/lock"
	"github.com/sixlink/sixlink/record/visible"
)

func catalogVerb() *verb {
	return &verb{
		name:    "catalog",
		summary: "keep what servers list in a lock file, and check recordings against it",
		subs:    []*verb{catalogSaveVerb(), catalogCheckVerb()},
	}
}

// catalogFlags are those of both verbs.
type catalogFlags struct {
	out, key string
	limit    int64
}

func (f *catalogFlags) add(fs *pflag.FlagSet) {
	sessionKeyFlag(fs, &f.key)
	maxDecompressed(fs, &f.limit)
}

func (f *catalogFlags) check() error {
	if err := session.CheckSessionKey(f.key); err != nil {
		return fmt.Errorf("--session-key: %w", err)
	}
	return nil
}

// serverName is how a session's server is called: the label server, else its own name.
func serverName(l *loaded, s *session.Session) string {
	if name := l.header.Labels[grade.LabelServer]; name != "" {
		return name
	}
	return s.Server.Name
}

func catalogSaveVerb() *verb {
	var f catalogFlags
	v := &verb{
		name:    "catalog save",
		args:    "RECORDING...",
		summary: "keep the tools that servers list in a lock file",
		long: "Of each server the last whole list of tools is kept, by the label server or by its own name. The file is JSON, one member a line, to be kept beside the code.\n" +
			"Exit code 0: it is written; 2: the command line is wrong; 3: no whole list is on record, or a recording cannot be read.",
		examples: [2]string{
			"sixlink catalog save -o catalog.lock.json r.mcp.jsonl.zst",
			"sixlink catalog save recordings/ > catalog.lock.json",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&f.out, "output", "o", "", "write the lock to this `FILE`")
			f.add(fs)
		},
	}
	v.run = func(s stdio, args []string) int {
		if len(args) == 0 {
			return usageError(s, v.name, errors.New("needs a RECORDING"))
		}
		if err := f.check(); err != nil {
			return usageError(s, v.name, err)
		}
		paths, err := auditPaths(args)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		kept := &lock.Lock{Servers: []lock.Server{}}
		for _, path := range paths {
			l, err := loadByKey(path, record.Options{MaxDecompressed: f.limit}, f.key)
			if err != nil {
				return fail(s, v.name, err, exitUnknown)
			}
			ended(s, v.name, path, l.end)
			err = saveCatalogs(s, v.name, l, kept)
			l.Close()
			if err != nil {
				return fail(s, v.name, fmt.Errorf("%s: %w", path, err), exitUnknown)
			}
		}
		if len(kept.Servers) == 0 {
			return fail(s, v.name, errors.New("no whole list of tools is on record"), exitUnknown)
		}
		if err := deliver(s.out, f.out, kept.Write); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		for i := range kept.Servers {
			k := &kept.Servers[i]
			fmt.Fprintf(s.err, "sixlink %s: %s %s: %s\n", v.name, visible.String(k.Server), visible.String(k.Version), count(int64(len(k.Tools)), "tool"))
		}
		return exitGood
	}
	return v
}

// saveCatalogs puts the last whole list of each server of a recording into the lock.
func saveCatalogs(s stdio, name string, l *loaded, kept *lock.Lock) error {
	for _, sess := range l.sessions {
		for i := len(sess.Lists) - 1; i >= 0; i-- {
			if !lock.Whole(sess.Lists[i]) {
				continue
			}
			another, err := kept.Add(serverName(l, sess), sess.Server.Version, sess.Lists[i])
			if err != nil {
				return err
			}
			if another {
				fmt.Fprintf(s.err, "sixlink %s: %s: session %s was shown another list of %s than one before it: the later one is kept\n",
					name, l.path, sess.ID, visible.String(serverName(l, sess)))
			}
			break
		}
	}
	return nil
}

func catalogCheckVerb() *verb {
	var f catalogFlags
	var format, on string
	v := &verb{
		name:    "catalog check",
		args:    "LOCK RECORDING...",
		summary: "say whether servers still list what the lock has",
		long: "Every list of tools on record of a server in the lock is compared with it, by the rules of docs/diff-rules.md.\n" +
			"Exit code 0: no change that --fail-on names; 1: one; 2: the command line or the lock is wrong; 3: no whole list of a server in the lock is on record, or a recording cannot be read.",
		examples: [2]string{
			"sixlink catalog check catalog.lock.json r.mcp.jsonl.zst",
			"sixlink catalog check --fail-on any --format json -o drift.json catalog.lock.json recordings/",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&on, "fail-on", string(lock.FailBreaking), "exit with 1 on breaking, any or none")
			fs.StringVar(&format, "format", "text", "text or json")
			fs.StringVarP(&f.out, "output", "o", "", "write the result to this `FILE`")
			f.add(fs)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch failOn := lock.FailOn(on); {
		case len(args) < 2:
			return usageError(s, v.name, errors.New("needs a LOCK and a RECORDING"))
		case format != "text" && format != "json":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		case failOn != lock.FailBreaking && failOn != lock.FailAny && failOn != lock.FailNone:
			return usageError(s, v.name, fmt.Errorf("--fail-on %q is none of breaking, any, none", on))
		}
		if err := f.check(); err != nil {
			return usageError(s, v.name, err)
		}
		kept, err := readLock(args[0])
		if err != nil {
			return fail(s, v.name, fmt.Errorf("%s: %w", args[0], err), exitUsage)
		}
		paths, err := auditPaths(args[1:])
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		c := lock.NewChecker(kept, lock.FailOn(on))
		files := map[string]string{}
		for _, path := range paths {
			l, err := loadByKey(path, record.Options{MaxDecompressed: f.limit}, f.key)
			if err != nil {
				fail(s, v.name, err, 0)
				id := contentID(path)
				files[id] = path
				c.Unreadable(id)
				continue
			}
			ended(s, v.name, path, l.end)
			if _, is := files[l.header.ID]; !is {
				files[l.header.ID] = path
			}
			for _, sess := range l.sessions {
				for _, list := range sess.Lists {
					c.Add(serverName(l, sess), sess.Server.Version, l.header.ID, list)
				}
			}
			l.Close()
		}
		res := c.Result()
		err = deliver(s.out, f.out, func(w io.Writer) error {
			if format == "json" {
				return lock.JSON(w, res)
			}
			return lock.Text(w, res, func(id string) string {
				if p := files[id]; p != "" {
					return p
				}
				return id
			})
		})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return res.ExitCode()
	}
	return v
}

func readLock(path string) (*lock.Lock, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, lock.MaxSize+1))
	if err != nil {
		return nil, err
	}
	return lock.Read(data)
}
