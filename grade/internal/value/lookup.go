package value

// Lookup reads the JSON value data and builds only what stands under one top-level
// key, the last one of that name as in JavaScript; the rest is checked and passed
// over, so that it costs no memory. found is nil when data is no object or lacks
// the key; object tells these apart. Options.MaxValues bounds the values below the
// key alone.
func Lookup(data []byte, key string, o Options) (found *Value, object bool, err error) {
	p := parser{data: data, o: o, line: 1}
	p.space()
	if object = p.i < len(data) && data[p.i] == '{'; !object {
		err = p.pass(0)
	} else {
		err = p.members(0, func(k string) error {
			if k != key {
				return p.pass(1)
			}
			p.n = 0
			v, err := p.value(1)
			found = &v
			return err
		})
	}
	if err != nil {
		return nil, object, err
	}
	p.space()
	if p.i < len(data) {
		return nil, object, p.fail("text after the end of the value")
	}
	return found, object, nil
}

// pass reads a value as value does and builds nothing.
func (p *parser) pass(depth int) error {
	if p.i >= len(p.data) {
		return p.fail("the text ends where a value was expected")
	}
	switch p.data[p.i] {
	case '{':
		return p.members(depth, func(string) error { return p.pass(depth + 1) })
	case '[':
		if err := p.enter(depth); err != nil {
			return err
		}
		p.i++
		p.space()
		if p.take(']') {
			return nil
		}
		for {
			p.space()
			if err := p.pass(depth + 1); err != nil {
				return err
			}
			p.space()
			if p.take(']') {
				return nil
			}
			if !p.take(',') {
				return p.fail(`expected "," or "]" in a list`)
			}
		}
	}
	p.n = 0
	_, err := p.value(depth)
	return err
}

// members reads an object; each stands at the member's value and must read it.
func (p *parser) members(depth int, each func(key string) error) error {
	if err := p.enter(depth); err != nil {
		return err
	}
	p.i++
	p.space()
	if p.take('}') {
		return nil
	}
	for {
		p.space()
		if p.i >= len(p.data) || p.data[p.i] != '"' {
			return p.fail("expected a key in double quotes")
		}
		key, err := p.string()
		if err != nil {
			return err
		}
		p.space()
		if !p.take(':') {
			return p.fail(`expected ":" after a key`)
		}
		p.space()
		if err := each(key); err != nil {
			return err
		}
		p.space()
		if p.take('}') {
			return nil
		}
		if !p.take(',') {
			return p.fail(`expected "," or "}" in an object`)
		}
	}
}
