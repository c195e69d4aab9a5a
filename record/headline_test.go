package record

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A head is written by hand: what is read of it is what json.Marshal would have
// written, every member of it, empty and full.
func TestHeadLine(t *testing.T) {
	fields := Fields{"B": {"1", ""}, "A": {"é\"\\\n", "xyz"}, "C": {}}
	masks := []HeadMask{{In: "target", Off: 0, Len: 3, MAC: "abc"}, {In: "A", N: 1, Off: 2, Len: 1}}
	all := []Record{
		{Kind: KindRequest, Request: &HTTPRequest{}},
		{Kind: KindRequest, Request: &HTTPRequest{Conn: 3, Peer: "1.2.3.4:5", Method: "POST", Target: "/a%zz?\u2028", Proto: "HTTP/1.1", Host: "h", Headers: fields,
			RawHeaders: Fields{"X": {"/w=="}}, Length: -1, Sent: fields, Masked: masks, End: true}},
		{Kind: KindResponse, Response: &HTTPResponse{}},
		{Kind: KindResponse, Response: &HTTPResponse{Status: 200, Reason: "Fine <so>", Proto: "HTTP/2.0", Headers: fields, RawHeaders: Fields{}, Length: 7, Sent: Fields{}, Masked: []HeadMask{},
			End: true, Made: true, Why: "why", Attempts: 2}},
	}
	// A member that is new must be set here, and written.
	for _, v := range []any{*all[1].Request, *all[3].Response} {
		for i, s := 0, reflect.ValueOf(v); i < s.NumField(); i++ {
			if s.Field(i).IsZero() {
				t.Errorf("%s is not set in the test", s.Type().Field(i).Name)
			}
		}
	}
	for _, r := range all {
		line, err := appendEvent(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		var got Record
		if err := decodeLine([]byte(`{"kind":"`+string(r.Kind)+`","seq":1,"at":1,"exchange":1,"from":"`+string(sideOf(r.Kind))+`",`+string(line[len(`{"kind":"`+string(r.Kind)+`","seq":0,"at":0,`):len(line)-1])), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		want, _ := json.Marshal(r.payload(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		have, _ := json.Marshal(got.payload(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if string(want) != string(have) {
			t.Errorf("read\n%s, want\n%s", have, want)
		}
	}
}

func sideOf(k Kind) From {
	if k == KindRequest {
		return Client
	}
	return Server
}
