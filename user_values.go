package gale

import "io"

// userValues are values under keys of any type, in the order in which the keys were first
// set. A message has only a few, so a linear search is fast enough.
type userValues []userValue

type userValue struct{ key, value any }

func (v *userValues) set(key, value any) {
	if b, ok := key.([]byte); ok {
		key = string(b)
	}
	for i := range *v {
		if (*v)[i].key == key {
			(*v)[i].value = value
			return
		}
	}
	if value == nil {
		return
	}
	*v = append(*v, userValue{key, value})
}

func (v *userValues) setBytes(key []byte, value any) {
	if i := v.indexBytes(key); i >= 0 {
		(*v)[i].value = value
		return
	}
	v.set(string(key), value)
}

func (v userValues) get(key any) any {
	if b, ok := key.([]byte); ok {
		return v.getBytes(b)
	}
	for i := range v {
		if v[i].key == key {
			return v[i].value
		}
	}
	return nil
}

func (v userValues) getBytes(key []byte) any {
	if i := v.indexBytes(key); i >= 0 {
		return v[i].value
	}
	return nil
}

func (v userValues) indexBytes(key []byte) int {
	for i := range v {
		if s, ok := v[i].key.(string); ok && s == string(key) {
			return i
		}
	}
	return -1
}

func (v *userValues) remove(key any) {
	if b, ok := key.([]byte); ok {
		v.removeBytes(b)
		return
	}
	for i := range *v {
		if (*v)[i].key == key {
			v.removeAt(i)
			return
		}
	}
}

func (v *userValues) removeBytes(key []byte) {
	if i := v.indexBytes(key); i >= 0 {
		v.removeAt(i)
	}
}

func (v *userValues) removeAt(i int) {
	s := *v
	copy(s[i:], s[i+1:])
	s[len(s)-1] = userValue{}
	*v = s[:len(s)-1]
}

// reset closes the values that implement io.Closer, in order, and drops all.
func (v *userValues) reset() {
	if len(*v) > 0 {
		v.resetSlow()
	}
}

func (v *userValues) resetSlow() {
	defer func() {
		clear(*v)
		*v = (*v)[:0]
	}()
	v.close()
}

// close closes the values that implement io.Closer, in order, and keeps all.
func (v userValues) close() {
	for i := range v {
		if c, ok := v[i].value.(io.Closer); ok {
			defer v[i+1:].close() // even if Close doesn't return
			_ = c.Close()
			return
		}
	}
}

// UserValue returns the value under key, or nil. A []byte key is the same as the string
// of its bytes.
func (req *Request) UserValue(key any) any {
	used(req.loan)
	return req.userValues.get(key)
}

// UserValueBytes is UserValue for string(key).
func (req *Request) UserValueBytes(key []byte) any {
	used(req.loan)
	return req.userValues.getBytes(key)
}

// SetUserValue stores value under key, for code that handles the request later. Keys are
// compared as Go compares interfaces; a []byte key is the same as the string of its
// bytes. Storing nil under a new key does nothing.
//
// Values that implement io.Closer are closed when the request is reset. A server resets a
// request at its end.
func (req *Request) SetUserValue(key, value any) {
	used(req.loan)
	req.valueChanges++
	req.userValues.set(key, value)
}

// SetUserValueBytes is SetUserValue for string(key).
func (req *Request) SetUserValueBytes(key []byte, value any) {
	used(req.loan)
	req.valueChanges++
	req.userValues.setBytes(key, value)
}

// RemoveUserValue removes the value under key without closing it.
func (req *Request) RemoveUserValue(key any) {
	used(req.loan)
	req.valueChanges++
	req.userValues.remove(key)
}

// RemoveUserValueBytes is RemoveUserValue for string(key).
func (req *Request) RemoveUserValueBytes(key []byte) {
	used(req.loan)
	req.valueChanges++
	req.userValues.removeBytes(key)
}

// ResetUserValues removes all values and closes those that implement
// io.Closer.
func (req *Request) ResetUserValues() {
	used(req.loan)
	req.valueChanges++
	req.userValues.reset()
}

// VisitUserValues calls visitor for each value whose key is a string or bytes, in the
// order in which the keys were set. key is a copy that visitor may keep. visitor must not
// add or remove values.
func (req *Request) VisitUserValues(visitor func(key []byte, value any)) {
	used(req.loan)
	for i := range req.userValues {
		if s, ok := req.userValues[i].key.(string); ok {
			visitor([]byte(s), req.userValues[i].value)
		}
	}
}

// VisitUserValuesAll calls visitor for each value, in the order in which the
// keys were set. The visitor must not add or remove values.
func (req *Request) VisitUserValuesAll(visitor func(key, value any)) {
	used(req.loan)
	for i := range req.userValues {
		visitor(req.userValues[i].key, req.userValues[i].value)
	}
}
