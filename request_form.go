package gale

func (req *Request) removeForm() {}

func (req *Request) marshalForm() []byte { return nil }
