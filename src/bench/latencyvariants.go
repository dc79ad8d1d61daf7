package main

// A latencyVariant is a transport with its settings.
type latencyVariant struct {
	transport, settings string
	client, server      latencySide
	needsIP             bool // not only UDP
	oneWay              bool // nothing is lost on the way to the client
}

// A latencySide is a program and its arguments for KCP sessions.
type latencySide struct {
	program program
	session []string
}

func (v *latencyVariant) name() string {
	if v.settings == "" {
		return v.transport
	}
	return v.transport + ", " + v.settings
}

// losses returns the fractions of packets that are lost on their way to the server and back.
func (v *latencyVariant) losses(loss float64) (up, down float64) {
	if v.oneWay {
		return loss, 0
	}
	return loss, loss
}

// latencyVariants returns all variants, in the order of the report.
func latencyVariants(p *programs) []*latencyVariant {
	tcp, quic := latencySide{program: p.tcp}, latencySide{program: p.quic}
	all := []*latencyVariant{
		{transport: "TCP", client: tcp, server: tcp, needsIP: true},
		{transport: "QUIC", client: quic, server: quic},
	}
	side := func(program program, session []string) latencySide {
		return latencySide{program, append(session, "--sndwnd=1024", "--rcvwnd=1024")}
	}
	add := func(program program, settings string, session ...string) {
		both := side(program, session)
		all = append(all, &latencyVariant{
			transport: program.name, settings: settings, client: both, server: both})
	}
	addToKCPGo := func(program program, settings string, client, server []string) {
		all = append(all, &latencyVariant{
			transport: program.name, settings: settings + ", to kcp-go, lost one way",
			client: side(program, client), server: side(p.kcpGo, server), oneWay: true})
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
		addToKCPGo(kcp4j, "no FEC", nil, nil)
		addToKCPGo(kcp4j, "FEC adaptive",
			[]string{"--adaptive-fec=2"}, []string{"--datashard=10", "--parityshard=3"})
	}
	return all
}
