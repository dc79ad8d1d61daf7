/**
 * Lanes: independent streams of messages on one session, of which none waits for another. No I/O.
 *
 * <p>One conversation carries the frames of all lanes. The receiver reads each segment as soon as
 * it arrives, whether or not segments before it are missing: order, reassembly and duplicates are
 * those of a lane. {@link io.kcp4j.lanes.Lanes} has the lanes of a session. Both peers need kcp4j's
 * extension: protocol.md 15.
 */
package io.kcp4j.lanes;
