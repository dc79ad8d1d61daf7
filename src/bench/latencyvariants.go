package main

// A latencyVariant is a transport with its settings.
type latencyVariant struct {
	transport, settings string
	program             program
	session             []string // arguments of KCP sessions
	needsIP             bool     // not only UDP
}

func (v *latencyVariant) name() string {
	if v.settings == "" {
		return v.transport
	}
	return v.transport + ", " + v.settings
}

// latencyVariants returns all variants, in the order of the report.
func latencyVariants(p *programs) []*latencyVariant {
	all := []*latencyVariant{
		{transport: "TCP", program: p.tcp, needsIP: true},
		{transport: "QUIC", program: p.quic},
	}
	add := func(program program, settings string, session ...string) {
		session = append(session, "--sndwnd=1024", "--rcvwnd=1024")
		all = append(all, &latencyVariant{
			transport: program.name, settings: settings, program: program, session: session})
	}
	add(p.kcpGo, "no FEC")
	add(p.kcpGo, "no FEC, ACK no delay", "--acknodelay")
	add(p.kcpGo, "FEC 10/3", "--datashard=10", "--parityshard=3")
	add(p.kcpGo, "FEC 3/2, MTU 500", "--datashard=3", "--parityshard=2", "--mtu=500")
	for _, kcp4j := range p.kcp4j {
		add(kcp4j, "no FEC, COUNT", "--loss-detection=count")
		add(kcp4j, "no FEC")
		add(kcp4j, "FEC 10/3", "--datashard=10", "--parityshard=3")
		add(kcp4j, "FEC 3/2, MTU 500", "--datashard=3", "--parityshard=2", "--mtu=500")
		add(kcp4j, "FEC adaptive", "--adaptive-fec=2")
		add(kcp4j, "FEC adaptive, up to 3", "--adaptive-fec=3")
	}
	return all
}
