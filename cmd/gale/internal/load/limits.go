package load

// spareFiles is how many descriptors are needed besides those of connections.
const spareFiles = 64

// checkFiles reports that the system doesn't allow so many connections.
func checkFiles(p *Plan) error {
	most := raiseFiles(uint64(p.Connections + spareFiles + 4*p.Threads))
	if need := uint64(p.Connections + spareFiles + 4*p.Threads); most < need {
		return refuse("%d connections need %d open files, but the limit is %d: raise it (ulimit -n %d) or use fewer connections",
			p.Connections, need, most, need)
	}
	return nil
}

// checkPorts reports that there are not enough local ports for all connections to one
// address.
func checkPorts(p *Plan, endpoints []*endpoint) error {
	ports := localPorts()
	tcp := 0
	for _, e := range endpoints {
		if e.network == "tcp" {
			tcp++
		}
	}
	if ports == 0 || tcp == 0 {
		return nil
	}
	if most := ports * max(len(p.Sources), 1) * tcp; p.Connections > most {
		return refuse("%d connections need more local ports than the %d that one address has: give more source addresses",
			p.Connections, ports)
	}
	return nil
}

// checkSources reports a source address that can't reach an address.
func checkSources(p *Plan, endpoints []*endpoint) error {
	for _, s := range p.Sources {
		for _, e := range endpoints {
			if e.network == "tcp" && s.Is4() != e.addr.Addr().Is4() {
				return refuse("the source address %v and %v are of different kinds: one is IPv4, the other IPv6", s, e.addr.Addr())
			}
		}
	}
	return nil
}
