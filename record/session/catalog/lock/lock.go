// Package lock keeps the tools that servers listed in a file, and says what is
// different from it later: drift as a gate.
//
// It must not know recordings, sessions, or where files stand.
package lock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/jsonscan"
	"github.com/sixlink/sixlink/record/visible"
)

// Schema names the shape of the file.
const Schema = "sixlink/catalog-lock/1"

// MaxSize bounds a lock file, in bytes.
const MaxSize = 64 << 20

// maxDepth bounds how deep tools nest: what is deeper cannot be compared.
const maxDepth = 500

// Lock is what servers listed.
type Lock struct {
	Schema string `json:"schema"`
	// Servers are in the order of their names, each once.
	Servers []Server `json:"servers"`
}

// Server is what one server listed.
type Server struct {
	Server  string `json:"server"`
	Version string `json:"version"`
	// Tools are as they were listed, white space aside.
	Tools []jsontext.Value `json:"tools"`

	list *catalog.List
}

// options: tools are kept as they are, also where their JSON is strange.
var options = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.EscapeForHTML(false), jsontext.PreserveRawStrings(true))

// Add puts a whole list in the place of what is there of the server. It tells whether
// another list was there.
func (l *Lock) Add(server, version string, list *catalog.List) (another bool, err error) {
	s := Server{Server: visible.UTF8(server), Version: visible.UTF8(version), Tools: []jsontext.Value{}, list: list}
	if !Whole(list) {
		return false, errors.New("its list of tools is not whole")
	}
	for i := range list.Tools {
		raw := list.Tools[i].Raw
		if len(raw) == 0 || raw[0] != '{' {
			return false, fmt.Errorf("tool %d of the list is no object", i+1)
		}
		if _, ok := jsonscan.Canonical(raw); !ok {
			return false, fmt.Errorf("tool %q nests deeper than %d and cannot be kept", visible.String(list.Tools[i].Name), maxDepth)
		}
		s.Tools = append(s.Tools, jsontext.Value(bytes.Clone(raw)))
	}
	i, is := l.find(s.Server)
	if !is {
		l.Servers = slices.Insert(l.Servers, i, s)
		return false, nil
	}
	another = !l.Servers[i].equal(&s)
	l.Servers[i] = s
	return another, nil
}

// Whole tells whether a list is one that can be relied on.
func Whole(l *catalog.List) bool {
	return l != nil && (l.State == catalog.Complete || l.State == catalog.Racy)
}

func (l *Lock) find(server string) (int, bool) {
	return slices.BinarySearchFunc(l.Servers, server, func(s Server, name string) int { return cmp.Compare(s.Server, name) })
}

func (s *Server) equal(o *Server) bool {
	return slices.EqualFunc(s.Tools, o.Tools, func(a, b jsontext.Value) bool { return jsonscan.Equal(a, b) })
}

// Write writes the lock, the same bytes for the same lists, a member a line so that a
// review shows what changed.
func (l *Lock) Write(w io.Writer) error {
	l.Schema = Schema
	if err := json.MarshalWrite(w, l, options, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Read reads a lock. Its errors name the field.
func Read(data []byte) (*Lock, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxSize)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head, options); err != nil {
		return nil, fmt.Errorf("this is no catalog lock: %w", err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, not %q: make the lock anew with sixlink catalog save", visible.String(cut(head.Schema)), Schema)
	}
	l := &Lock{}
	if err := json.Unmarshal(data, l, options, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("this is no catalog lock: %w", err)
	}
	if len(l.Servers) == 0 {
		return nil, errors.New("servers is empty: there is nothing to check against")
	}
	for i := range l.Servers {
		s := &l.Servers[i]
		if i > 0 && l.Servers[i-1].Server >= s.Server {
			return nil, fmt.Errorf("servers[%d].server %q stands there twice or out of order", i, visible.String(cut(s.Server)))
		}
		if s.Tools == nil {
			return nil, fmt.Errorf("servers[%d].tools is missing", i)
		}
		var text []byte
		text = append(text, '[')
		for k, t := range s.Tools {
			if len(t) == 0 || t[0] != '{' {
				return nil, fmt.Errorf("servers[%d].tools[%d] is no object", i, k)
			}
			if _, ok := jsonscan.Canonical(t); !ok {
				return nil, fmt.Errorf("servers[%d].tools[%d] nests deeper than %d", i, k, maxDepth)
			}
			if k > 0 {
				text = append(text, ',')
			}
			text = append(text, t...)
		}
		b := catalog.NewBuilder()
		b.Answer(b.Request(1, "", false), 2, append(text, ']'), "", false)
		s.list = b.Lists()[0]
	}
	return l, nil
}

func cut(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
