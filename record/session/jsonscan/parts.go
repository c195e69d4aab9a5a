package jsonscan

import "bytes"

// Member is one member of an object: its decoded name, and its value's JSON text.
type Member struct {
	Name  string
	Value []byte
}

// Object returns the members of the object that b is, in their order. Of members
// with one name the last holds, in the place of the first. ok is false when b is no
// object.
func Object(b []byte) (members []Member, ok bool) {
	at := map[string]int{}
	_, err := Members(b, 0, func(name []byte, i int) (Span, error) {
		s, err := Skip(b, i)
		if err != nil {
			return s, err
		}
		if n, twice := at[string(name)]; twice {
			members[n].Value = b[s.Start:s.End]
			return s, nil
		}
		at[string(name)] = len(members)
		members = append(members, Member{string(name), b[s.Start:s.End]})
		return s, nil
	})
	return members, err == nil
}

// Array returns the JSON texts of the elements of the array that b is; ok is false
// when it is none.
func Array(b []byte) (elements [][]byte, ok bool) {
	_, err := Elements(b, 0, func(_, i int) (Span, error) {
		s, err := Skip(b, i)
		if err == nil {
			elements = append(elements, b[s.Start:s.End])
		}
		return s, err
	})
	return elements, err == nil
}

// Equal tells whether two JSON texts are the same value: white space, member order
// and the spelling of strings and numbers do not count. Values that nest too deep for
// [Canonical] are equal when their texts are.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ca, ok := Canonical(a)
	if !ok {
		return false
	}
	cb, ok := Canonical(b)
	return ok && bytes.Equal(ca, cb)
}
