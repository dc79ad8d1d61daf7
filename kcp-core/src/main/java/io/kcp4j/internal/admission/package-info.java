/** Which peers may begin a session: stateless retries, challenges, replays. */
package io.kcp4j.internal.admission;
