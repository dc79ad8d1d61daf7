/**
 * smux: many streams over one byte stream, such as a KCP or TCP connection. Versions 1 and 2,
 * compatible with {@code github.com/xtaci/smux}. No I/O, no clock and no thread: {@link
 * io.kcp4j.smux.SmuxSession} takes bytes and the time, and returns frames.
 *
 * <p>For Netty, {@code io.kcp4j.netty.smux} drives it. The wire format and the rules are in
 * protocol.md, section 14.
 */
package io.kcp4j.smux;
