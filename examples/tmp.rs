fn main(){ let p=std::env::args().nth(1).unwrap(); let h=scaler::plan::checked::HostFacts{cpus:2,memory_bytes:4,name:"h".into()};
let n: usize = std::env::args().nth(2).map_or(1,|s|s.parse().unwrap());
for _ in 0..n { let t=std::time::Instant::now();
let r=scaler::plan::load(&p,&|p|std::fs::read_to_string(p),&[],&h); eprintln!("{:?}", t.elapsed());
 if n==1 { match r {Ok(c)=>{println!("{}",c.warnings.render(false)); println!("{}",scaler::plan::show::show(&c)); println!("{:#?}",c.estimates);} Err(p)=>println!("{}",p.render(false))}} }}
