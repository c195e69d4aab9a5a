package serve

import (
	"errors"
	"fmt"
	"io"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/replay/key"
)

// maxLine bounds one message, recorded or live, in bytes.
const maxLine = 64 << 20

// Tape is a recording made to be played.
type Tape struct {
	Header   *record.Header
	End      record.End
	Sessions []Session
	spool    spool
	names    map[string]string // one copy of each method and tool

	events    []*event
	items     []*item
	messages  []*message
	exchanges []*exchange
	begins    []*event // of each session
}

// Session is what is known of a recorded session once its messages are events and
// items: the rest would take memory for every call.
type Session struct {
	ID                string
	Era               session.Era
	Client            string // as it named itself
	Calls, Messages   int
	FirstSeq, LastSeq int64
	ended             string // who ended it
}

// what an event is.
type what uint8

const (
	evBegin what = iota // the session's beginning: what a server sends unasked
	evRequest
	evNotification
	evReply
	evHTTP // a request of HTTP without a message: GET, DELETE, OPTIONS …
)

// event is something that the client did. A recording has one for each call and more:
// its fields are in an order that leaves no holes, and what few events have is in few.
type event struct {
	what    what
	leave   bool  // not to be played: authorization that a later exchange got past
	session int32 // of Tape.Sessions; -1: of none
	x       int32 // of Tape.exchanges; -1: stdio
	index   int32 // in a batch, else -1
	batch   int32 // how many requests stood in the same line or body
	ord     int32 // its place among those of the tape, from 1
	seq     int64 // of the record by which session knows it …
	pos     int64 // … and of the one with its last byte: its place in the order
	at      int64
	method  string
	name    string // the tool or prompt
	id      string // ident …
	raw     string // … and as the client spelt it
	params  place  // for who wants to say what differs
	// key is that of a request without filler, by plainRules, and of a reply's result.
	key key.Key

	few    *few
	answer *message // that counts; nil: none
	of     *message // what it replies to
	items  []*item  // that it owns, in order
}

// few is what few events have.
type few struct {
	masked []mask.Span // filler in params
	token  string      // the progress token that it gave
	target string      // the id that it cancels
	lost   string      // why its answer is not on record although there may have been one
}

var none few

// rare is for reading, and rarely for writing.
func (ev *event) rare() *few {
	if ev.few == nil {
		return &none
	}
	return ev.few
}

func (ev *event) rarely() *few {
	if ev.few == nil {
		ev.few = &few{}
	}
	return ev.few
}

// form is what an item's bytes are.
type form uint8

const (
	itLine  form = iota // a line, with its end
	itEvent             // a part of an event stream, up to the end of an event
	itBody              // a whole body
	itHead              // the head of a response
	itEnd               // the end of a response, or of the server's stdout
	itPoint             // the endpoint event of legacy HTTP+SSE
)

// item is something that the server sent.
type item struct {
	form form
	// whole is false where the message text is broken over several data fields.
	whole   bool
	batch   bool
	session int32
	x       int32 // the exchange whose response it is of; -1: stdio
	data    span  // where the message text stands in the item's bytes
	pos, at int64
	place   place

	messages []*message
	owner    *event
	// stream is the GET, or the long-lived request, whose response it is of, where that
	// is not the owner's own; nil: none.
	stream *event
}

// message is a message of the server's.
type message struct {
	kind   kind
	event  int32 // of an event stream; -1
	index  int32 // in a batch; -1
	place  span  // in the item's data
	seq    int64
	method string
	id     string
	item   *item
	// answers is the request that a reply is for.
	answers *event
	reply   *event // of a request: the client's reply
	edits   []edit
}

// swap says what is put in the place of a recorded value.
type swap uint8

const (
	swapID    swap = iota // the id of the live request
	swapToken             // its progress token
)

// edit is a value in an item's bytes that is exchanged: by what the live request
// has that was matched with of.
type edit struct {
	span
	swap swap
	val  string // ident of what stands there
	of   *event
}

// ending is how a response ended.
type ending uint8

const (
	endOpen  ending = iota // it did not, or the client ended it
	endClean               // in order
	endCut                 // broken off by the server
)

// exchange is an HTTP exchange.
type exchange struct {
	n              int64
	method, target string
	pos            int64
	status         int
	fields         record.Fields
	session        int32
	host           string // that the client asked for
	key            string // the Mcp-Session-Id, or what stands for it
	given          string // the one of its response
	endpoint       string // of legacy HTTP+SSE: where this stream's messages are to be posted
	events         []*event
	end            ending
	left, dropped  bool // the client, or the server, broke it off
	stream         bool // text/event-stream
	headless       bool // no response is on record
	long           bool // a GET, or a request that stays open: a stream that others' items come on
}

// intern keeps one copy of a name.
func (t *Tape) intern(s string) string {
	s = clip(s)
	if had, ok := t.names[s]; ok {
		return had
	}
	t.names[s] = s
	return s
}

// Options of loading.
type Options struct {
	// SessionKey is that of session.Options.
	SessionKey string
}

// Source is a recording to load: a record.Reader.
type Source interface {
	Header() *record.Header
	Next() (*record.Record, error)
	End() record.End
}

// Load reads a whole recording. The tape must be closed.
func Load(r Source, opts Options) (*Tape, error) {
	t := &Tape{Header: r.Header(), names: map[string]string{}}
	var got pairs
	d := session.NewDecoder(r.Header(), nopSource{}, session.Options{SessionKey: opts.SessionKey, Settled: got.settled})
	l := newLoader(t)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			d.Add(rec)
			err = l.add(rec)
		}
		if err != nil {
			t.Close()
			return nil, err
		}
	}
	if err := l.finish(); err != nil {
		t.Close()
		return nil, err
	}
	t.End = r.End()
	if err := t.spool.sealed(); err != nil {
		t.Close()
		return nil, err
	}
	t.link(d.Finish(t.End.State, t.End.Torn).Sessions, &got)
	return t, nil
}

// Close lets go of the spool.
func (t *Tape) Close() { t.spool.close() }

// nopSource is for a decoder whose values nobody asks for.
type nopSource struct{}

func (nopSource) Fetch([]record.Ref) ([]byte, error) {
	return nil, fmt.Errorf("no values are kept here")
}
