package io.kcp4j.tunnel;

import io.kcp4j.command.TransportChoice;

/**
 * What all parts of an end of the tunnel use.
 *
 * @param settings the settings
 * @param transport the transport of the event loops, not {@link TransportChoice#AUTO}
 * @param log the log
 * @param statistics what is counted
 * @param forwarding what all connections hold
 */
record TunnelContext(
    TunnelSettings settings,
    TransportChoice transport,
    TunnelLog log,
    TunnelStatistics statistics,
    ForwardingLimit forwarding) {}
