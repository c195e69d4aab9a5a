package jsonscan

import "bytes"

// Members calls member for each member of the object that begins at or after i,
// in order, duplicates included, with its decoded name (valid during the call)
// and where its value begins. member walks over the value itself (with Skip, or
// deeper) and returns its span; so every byte is walked over once. It returns
// where the object ends and its depth.
//
// On input that is cut or no JSON, what was found before it has been reported.
func Members(b []byte, i int, member func(name []byte, at int) (Span, error)) (Span, error) {
	s, i, empty, err := open(b, i, '{', '}')
	if err != nil || empty {
		return s, err
	}
	for {
		i = Space(b, i)
		if i >= len(b) {
			return s, ErrCut
		}
		from := i
		var end int
		if end, i, err = name(b, i); err != nil {
			return s, err
		}
		key := b[from+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = AppendString(nil, b[from:end])
		}
		var v Span
		if v, err = member(key, i); err != nil {
			return s, err
		}
		s.Depth = max(s.Depth, v.Depth+1)
		var last bool
		if i, last, err = separator(b, v.End, '}'); err != nil {
			return s, err
		}
		if last {
			s.End = i
			return s, nil
		}
	}
}

// Elements calls element for each element of the array that begins at or after
// i, with its place and where it begins; see [Members].
func Elements(b []byte, i int, element func(index, at int) (Span, error)) (Span, error) {
	s, i, empty, err := open(b, i, '[', ']')
	if err != nil || empty {
		return s, err
	}
	for n := 0; ; n++ {
		var v Span
		if v, err = element(n, i); err != nil {
			return s, err
		}
		s.Depth = max(s.Depth, v.Depth+1)
		var last bool
		if i, last, err = separator(b, v.End, ']'); err != nil {
			return s, err
		}
		if last {
			s.End = i
			return s, nil
		}
	}
}

// open walks over an opening bracket, and over the closing one when nothing is
// between them.
func open(b []byte, i int, left, right byte) (s Span, next int, empty bool, err error) {
	i = Space(b, i)
	s = Span{Start: i, Depth: 1}
	if i >= len(b) {
		return s, i, false, ErrCut
	}
	if b[i] != left {
		return s, i, false, ErrSyntax
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == right {
		s.End = i + 1
		return s, i + 1, true, nil
	}
	return s, i, false, nil
}

// separator walks over the comma or the closing bracket behind a value.
func separator(b []byte, i int, right byte) (next int, last bool, err error) {
	i = Space(b, i)
	switch {
	case i >= len(b):
		return i, false, ErrCut
	case b[i] == ',':
		return i + 1, false, nil
	case b[i] == right:
		return i + 1, true, nil
	}
	return i, false, ErrSyntax
}
